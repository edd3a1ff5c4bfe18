# Only the binary: no shell, no libraries, no root. See docs/installing.md.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# Includes .git, which provides the version; see .dockerignore.
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN go run ./internal/dist -unpacked -platforms "${TARGETOS:-linux}/${TARGETARCH:-$(go env GOARCH)}" -out /image/opt/animalstore \
    && mkdir -m 0700 /image/data \
    && mkdir -m 1777 /image/tmp

FROM scratch
LABEL org.opencontainers.image.title="animalstore" \
      org.opencontainers.image.description="Catalogue and orders of an animal store" \
      org.opencontainers.image.licenses="Apache-2.0"
# CA certificates for webhooks and for PostgreSQL over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /image/data /data
COPY --from=build /image/tmp /tmp
COPY --from=build /image/opt/animalstore /opt/animalstore
ENV PATH=/opt/animalstore \
    ANIMALSTORE_ADDR=0.0.0.0:8080 \
    ANIMALSTORE_DATABASE=/data/animalstore.db
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/opt/animalstore/animalstore", "health"]
ENTRYPOINT ["/opt/animalstore/animalstore"]
CMD ["serve"]
