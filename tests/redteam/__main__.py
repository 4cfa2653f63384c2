"""`python -m tests.redteam`: every attack against every jail that works on this machine, and the points it gained."""

import sys

from rich.console import Console
from rich.progress import track
from rich.table import Table

from autograder.jail import LAUNCHERS, open_jail, session
from tests.redteam import Attack, Outcome, attacks, play


def outcomes(kind: str) -> dict[Attack, Outcome] | None:
    """What each attack comes to in a jail of this kind; None where there is none."""
    try:
        jail = open_jail(kind)
    except session.JailBroken:
        return None
    try:
        return {attack: play(attack, jail, kind) for attack in track(attacks(), kind, transient=True)}
    finally:
        jail.close()


def main() -> int:
    """Print attack by gained points; 1 when any gained something, 2 where there is no jail."""
    session.CALL_SECONDS, session.LOAD_SECONDS = 1.0, 2.0  # an attack that stalls does so for a second, not for five
    console = Console()
    jails = {kind: found for kind in LAUNCHERS if kind != "unsafe-trusted" and (found := outcomes(kind))}
    if not jails:
        console.print("No jail works on this machine: `autograder doctor` says what is missing.")
        return 2
    table = Table("attack", *jails, title="How each attack ended, and the points it gained")
    aim, gained = "", 0
    for attack in attacks():
        if attack.aim != aim:
            table.add_section()
            table.add_row(f"[bold]{attack.aim}")
            aim = attack.aim
        played = [found[attack] for found in jails.values()]
        gained += sum(outcome.points > 0 or outcome.reached for outcome in played)
        cells = [f"{o.status}, {o.points:g}{' and its aim' if o.reached else ''}" for o in played]
        table.add_row(attack.name, *cells)
    console.print(table)
    console.print(f"{len(attacks())} attacks against {' and '.join(jails)}: {gained} gained something.")
    return int(gained > 0)


if __name__ == "__main__":
    sys.exit(main())
