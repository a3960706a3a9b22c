# One image for service and workers; the extras decide what it can do. This one serves and leaves the work to workers;
# for a worker with a GPU: --build-arg EXTRAS=solve,kernels,nvcc,cluster,telemetry --build-arg TORCH=2.13.0
FROM python:3.12-slim
ARG EXTRAS=serve,cluster,postgres
ARG TORCH=
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY warpwright warpwright
COPY service service
COPY tuning tuning
COPY lowering lowering
COPY solver solver
COPY migrations migrations
RUN if [ -n "$TORCH" ]; then pip install --no-cache-dir -c constraints.txt "torch==$TORCH"; fi \
    && pip install --no-cache-dir -c constraints.txt ".[$EXTRAS]" \
    && useradd --create-home warpwright && mkdir /data && chown warpwright /data
USER warpwright
ENV WARPWRIGHT_DATA=/data
ENTRYPOINT ["warpwright"]
