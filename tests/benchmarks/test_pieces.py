from typer.testing import CliRunner

from benchmarks.__main__ import app


def test_pieces_are_compared_and_measured() -> None:
    sizes = ["--beginnings", "50", "--parts", "90", "--publications", "400", "--rounds", "1"]
    ran = CliRunner().invoke(app, ["pieces", *sizes, "--format", "json"])
    assert ran.exit_code == 0 and all(f'"{name}_per_second"' in ran.stdout for name in ("ends", "parts", "triples"))
