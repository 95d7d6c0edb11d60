"""`webapp demo`, `dev`, `cluster`, `crd`: the operator on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from functions.cli.output import Format, Group, Output, console, table, writable
from functions.webapp.resources import DEFAULT_GROUP

if TYPE_CHECKING:
    from contextlib import ExitStack

    from functions.dev.jaeger import Tracing
    from functions.dev.workbench import Workbench


def crd(*, group: Group = DEFAULT_GROUP) -> None:
    """Print the CustomResourceDefinition of the WebApp as YAML, for `kubectl apply -f -`."""
    import yaml

    from functions.webapp.crd import crd as definition

    typer.echo(yaml.safe_dump(definition(group), sort_keys=False, width=120, allow_unicode=True), nl=False)


def cluster() -> None:
    """Run a control plane alone until Ctrl-C: a real Kubernetes API with one fake node."""
    from functions.dev.controlplane import ControlPlane
    from functions.dev.signals import await_end

    with ControlPlane() as control_plane:
        typer.echo(f"export KUBECONFIG={control_plane.kubeconfig}")
        typer.echo("running until Ctrl-C", err=True)
        await_end()


def demo(*, output: Output = Format.TEXT) -> None:
    """Tour the operator in a minute on a control plane of its own; fails if a step does not hold.

    Both public samples are applied, edited, damaged by hand, healed, replayed and deleted. Each event is shown with the
    plan it led to and the API calls that took.
    """
    import time
    from contextlib import ExitStack

    from functions.cli.audience import Printer, Recorder
    from functions.dev.demo import Demo
    from functions.dev.tour import steps

    begun = time.monotonic()
    audience = Recorder() if output is Format.JSON else Printer(console())
    with ExitStack() as stack:
        tracing = _tracing(stack)
        playing = stack.enter_context(Demo(audience, tracing.settings if tracing else None))
        done = list(playing.run(steps(history=playing.stage.history is not None)))
    totals: dict[str, Any] = {
        name: sum(getattr(step, name) for step in done) for name in ("events", "api_calls", "writes")
    }
    totals["seconds"] = round(time.monotonic() - begun, 1)
    audience.end(done, totals)
    if any(step.failure for step in done):
        raise typer.Exit(1)


def dev(
    *,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Use this cluster instead of starting one.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Keep the recorded events here.")
    ] = None,
    group: Group = DEFAULT_GROUP,
) -> None:
    """Run everything on this machine until Ctrl-C: control plane, function, bridge, recorded events, the history.

    With `--kubeconfig` the CRD and the roles are installed in that cluster, and stay there; it could not call a server
    on this machine, and so serves no history.
    """
    from contextlib import ExitStack

    from functions.dev.cluster import ExistingCluster
    from functions.dev.controlplane import ControlPlane
    from functions.dev.signals import await_end
    from functions.dev.workbench import Workbench

    target = console()
    typer.echo("starting: a few seconds once its programs are built", err=True)
    with ExitStack() as stack:
        tracing = _tracing(stack)
        where = ExistingCluster(kubeconfig) if kubeconfig else ControlPlane()
        bench = stack.enter_context(
            Workbench(where, group, record and writable(record, "--record"), tracing.settings if tracing else None)
        )
        if bench.history is None:
            why = "that cluster cannot call a server here" if kubeconfig else "install webapp-operator[cli,history]"
            typer.echo(f"no history: {why}", err=True)
        _welcome(bench, tracing)
        pointed = False

        def show() -> bool:
            nonlocal pointed
            for part, line in bench.news():
                target.print(f"{part:>8} | {line}", markup=False)
            if not pointed and bench.first_event.exists():
                pointed = True
                _point(bench)
            return False

        await_end(show)
    typer.echo("everything that was started has ended", err=True)


def _tracing(stack: ExitStack) -> Tracing | None:
    """Jaeger; without one everything else still works."""
    from functions.dev import jaeger
    from functions.dev.build import ToolchainError

    try:
        return stack.enter_context(jaeger.from_environment())
    except ToolchainError as error:
        typer.echo(f"no traces: {error}", err=True)
        return None


def _welcome(bench: Workbench, tracing: Tracing | None) -> None:
    """Print what to paste into another terminal."""
    import shutil

    from functions.dev.toolchain import Toolchain

    parts = [("function", bench.url), ("bridge", f"{bench.health}metrics"), ("events", str(bench.recording))]
    more = [("traces", tracing.query)] if tracing else []
    if bench.history:
        more.append(("history", bench.history.database))
    table(console(), ("WHAT", "WHERE"), [*parts, *more])
    typer.echo(f"\nexport KUBECONFIG={bench.cluster.kubeconfig} FUNCTION={bench.url} EVENTS={bench.recording}")
    if not shutil.which("kubectl"):
        typer.echo(f"export PATH=$PATH:{Toolchain.from_environment().find('kubectl').parent}")
    typer.echo(
        "kubectl create namespace webapp-demo\n"
        "kubectl apply -f knative/samples/webapp.yaml\n"
        "webapp new webapp.sync --name web -n webapp-demo | webapp curl - --report --to $FUNCTION | sh\n"
        f"{'kubectl get reconciles -n webapp-demo' if bench.history else ''}\n"
    )


def _point(bench: Workbench) -> None:
    typer.echo(f"""
the first event is recorded; send it again, and all of them twice:
curl -sS {bench.url} -H 'content-type: application/cloudevents+json' -H 'prefer: return=representation' \\
  --data-binary @{bench.first_event}
webapp replay {bench.recording} --to {bench.url} --twice
""")
