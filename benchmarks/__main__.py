"""``make bench ARGS="…"``: each figure of the documentation, made again."""

from __future__ import annotations

import sys

import typer

from benchmarks.brokers import brokers
from benchmarks.commands import cluster, engine, index, papers
from benchmarks.keep import keep
from benchmarks.lsm.command import lsm
from benchmarks.padres.__main__ import app as padres
from benchmarks.pieces import pieces, sigma
from benchmarks.pipeline_past import pipeline_past
from benchmarks.policies import policies
from tidings.cli.terminal import say
from tidings.model import TidingsError

app = typer.Typer(name="benchmarks", help="Measure, and check that what is compared is equal.", no_args_is_help=True)

# Each command and an example of it, in the order in which --help lists them.
_COMMANDS = (
    (lsm, "lsm speed --operations 1000000 --data path/to/data"),
    (brokers, "brokers --subscribers 500 --seconds 60 --plot brokers.svg"),
    (policies, "policies --data path/to/data --save docs/results/policies.json"),
    (index.analysis, "analysis --posts tweets.parquet --save docs/results/analysis.json"),
    (index.matching, "matching --workload words --subscriptions 1000000 --data path/to/data"),
    (index.fences, "fences --subscriptions 100000 --data path/to/data"),
    (pieces, "pieces --beginnings 10000 --parts 100000 --save docs/results/pieces.json"),
    (sigma, "sigma --data path/to/data --save docs/results/sigma.json"),
    (index.growth, "growth --most 100000 --plot growth.svg --save growth.json"),
    (cluster.moves, "moves --subscriptions 100000 --matchers 8 --share 0.01"),
    (cluster.router, "router --data path/to/data --subscriptions 1000000"),
    (engine.registry, "registry --commits 20000 --plot registry.svg --save registry.json"),
    (engine.engine, "engine latency --subscriptions 1000000 --data path/to/data"),
    (cluster.spark, "spark replicated --workload words --data path/to/data"),
    (papers.s3tm, "s3tm matchers --posts 50000 --learn 10000 --folds 5 --plot pictures"),
    (papers.shedding, "shedding accuracy --data path/to/data --plot shedding-accuracy.svg"),
    (papers.balancing, "balancing drift --data path/to/data --save drift.json"),
    (index.compare, "compare HEAD~3 . --figure match --data path/to/data"),
    (keep, "keep --kept 1000000 --data path/to/data --save docs/results/keep.json"),
    (pipeline_past, "pipeline-past --posts 200000"),
)


@app.callback()
def about() -> None:
    """Measure, and check that what is compared is equal."""


app.add_typer(padres, name="padres")
for _command, _example in _COMMANDS:
    app.command(epilog=f"Example: python -m benchmarks {_example}")(_command)


def main() -> None:
    """The entry point: errors are one line and a hint."""
    try:
        app()
    except (TidingsError, OSError) as error:
        say(f"benchmarks: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
