"""``warpwright verify``: checks a schedule against every rule, without a solver."""

import json
import sys

from rich.text import Text

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import kernel_of, profile_of, schedule_of
from warpwright.cli.options import VerifyOptions
from warpwright.cli.render import console
from warpwright.extras import needs
from warpwright.graphs import read_graph
from warpwright.legality import violations_of
from warpwright.tuning.children import ChildPool

__all__ = ["run_verify"]


def run_verify(options: VerifyOptions) -> ExitCode:
    """Prints the violations, or that there are none.

    Raises:
        ExtraMissing: TileLang, which reads the kernel, is not installed.
    """
    needs("reading a kernel", "kernels")
    profile = profile_of(options.profile)
    schedule = schedule_of(options.schedule)
    with ChildPool(1) as pool:
        kernel = kernel_of(options.kernel, options.function, options.settings, pool=pool)
        graph = read_graph(kernel.variants[0].ir, profile, pool=pool)
    violations = violations_of(graph, profile, schedule)
    if options.json:
        body = [
            {"family": each.family, "rule": each.rule, "message": each.message, "place": each.place}
            for each in violations
        ]
        sys.stdout.write(
            json.dumps({"schema": "warpwright.verification/1", "legal": not violations, "violations": body}) + "\n"
        )
    else:
        out = console()
        for each in violations:
            out.print(
                Text(f"{each.family}/{each.rule}: {each.message}" + (f" (at {each.place})" if each.place else ""))
            )
        words = "illegal: " + str(len(violations)) + " rules broken" if violations else "legal"
        out.print(Text(f"{options.schedule.name} for {kernel.name} on {profile.name}: {words}", style="bold"))
    return ExitCode.ILLEGAL if violations else ExitCode.OK
