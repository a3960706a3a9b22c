"""The bound of a scope that arithmetic gives: loads of resources, recurrences, and propagation of both; no search.

Computed again, it is the same: a certificate's bound that is larger can only come from a search.
"""

from warpwright.solver.ascend.bounds import clique_bound, issue_bound
from warpwright.solver.ascend.families import build_network
from warpwright.solver.ascend.optimise import STRAIGHT_BOUND, least_by_bounds, straight_bound
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.search import Search
from warpwright.solver.ascend.symmetry import symmetry_arcs
from warpwright.solver.domain import Bound

__all__ = ["arithmetic_bound"]


def arithmetic_bound(problem: Problem) -> Bound:
    """The largest bound of a loop's interval, or of a straight-line list's makespan."""
    if not isinstance(problem, LoopProblem):
        return Bound(straight_bound(problem), STRAIGHT_BOUND)
    network = build_network(problem)
    network.arcs += symmetry_arcs(problem, network)
    bounds = [issue_bound(problem), clique_bound(problem, network)]
    search = Search(network, max(bound.cycles for bound in bounds))
    least_by_bounds(problem, search, bounds)
    return max(bounds, key=lambda bound: bound.cycles)
