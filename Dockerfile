# syntax=docker/dockerfile:1
# One image for every process; the argument is the Python module: functions.reconcile (default), event_bridge, ...
#   docker build --tag webapp-operator .            podman build --tag webapp-operator .
# BASE: any image with Python >= 3.11 as `python`, the same for both stages. REQUIREMENTS: image, or cli for `webapp` too.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ARG REQUIREMENTS=image
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
RUN python -m venv --without-pip /opt/webapp
COPY requirements/ requirements/
RUN python -m pip --python /opt/webapp/bin/python install --require-hashes --no-compile \
      --requirement requirements/${REQUIREMENTS}.txt \
 && python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --require-hashes --requirement requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY knative/ knative/
COPY functions/ functions/
COPY event_bridge/ event_bridge/
RUN /opt/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && python -m pip --python /opt/webapp/bin/python install --no-deps --no-compile dist/*.whl \
 && /opt/webapp/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/webapp/lib

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="webapp-operator" \
      org.opencontainers.image.description="A serverless Kubernetes operator: event bridge, reconcile function, webhooks" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Slim images leave out the compiled standard library, and a read-only root could never keep it: every cold start would
# compile it again.
RUN python -m compileall -q -j 0 -x '/(test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3)/' \
      "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/webapp /opt/webapp
# One heap for all threads, of which the interpreter lets one allocate at a time anyway; and no stacks kept of those that ended.
ENV PATH=/opt/webapp/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.pthread.stack_cache_size=0
WORKDIR /tmp
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/opt/webapp/bin/python", "-m"]
CMD ["functions.reconcile"]
