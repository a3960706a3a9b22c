"""``warpwright doctor``: the findings as a table or a document."""

import json
import sys
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.render import console
from warpwright.doctor import Finding, examine

__all__ = ["run_doctor"]


def run_doctor(server: str | None, token: str | None, *, as_json: bool) -> ExitCode:
    """Prints the findings; the exit code says whether something that every use needs is missing."""
    findings = examine(server=server, token=token)
    if as_json:
        document = {"schema": "warpwright.doctor/1", "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        console().print(_table(findings))
    missing = any(finding.needed and not finding.found for finding in findings)
    return ExitCode.MISSING if missing else ExitCode.OK


def _table(findings: tuple[Finding, ...]) -> Table:
    table = Table("", "what", "found", "for", header_style="bold")
    for finding in findings:
        mark = "ok" if finding.found else ("MISSING" if finding.needed else "-")
        style = None if finding.found else ("bold red" if finding.needed else "dim")
        detail = finding.detail + (f" ({finding.remedy})" if finding.remedy and not finding.found else "")
        table.add_row(*map(Text, (mark, finding.name, detail, finding.enables)), style=style)
    return table
