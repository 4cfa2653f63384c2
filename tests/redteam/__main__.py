"""`python -m tests.redteam`: every attack against the jail of this machine, and the points it gained."""

import sys

from rich.console import Console
from rich.table import Table

from autograder import doctor
from autograder.jail import open_jail
from tests.redteam import attacks, play


def main() -> int:
    """Print attack by gained points; 1 when any gained something, 2 where there is no jail."""
    console = Console()
    engine = doctor.best_engine()
    if engine is None:
        console.print("No jail works on this machine: `autograder doctor` says what is missing.")
        return 2
    table = Table("attack", "ended as", "points gained", title=f"Hostile notebooks against {engine}")
    jail, lost, aim = open_jail(engine), 0, ""
    for attack in attacks():
        if attack.aim != aim:
            table.add_section()
            table.add_row(f"[bold]{attack.aim}", "", "")
            aim = attack.aim
        outcome = play(attack, jail, engine)
        lost += outcome.points > 0 or outcome.reached
        table.add_row(attack.name, outcome.status, f"{outcome.points:g}{' and its aim' if outcome.reached else ''}")
    jail.close()
    console.print(table)
    console.print(f"{len(attacks())} attacks, {lost} of them gained something.")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
