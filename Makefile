# Tasks for contributors. Run `make` to list them.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
REDOCLY = 2.73.0
SPECTRAL = 6.16.3
FUZZTIME ?= 30s
ATTACK_SECONDS ?= 30
BENCH_SECONDS ?= 3
BENCH_ROUNDS ?= 3
SOAK ?= 10m

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Run the service in this folder.
	go run ./cmd/animalstore serve

.PHONY: build
build: ## Build the static binary bin/animalstore.
	CGO_ENABLED=0 go build -trimpath -o bin/animalstore ./cmd/animalstore

.PHONY: test
test: needs vet ## Check the code and run all tests with the race detector.
	go test -race -timeout 20m ./...

.PHONY: vet
vet: ## Check the code without running it: gofmt, vet, staticcheck, also for Windows and macOS.
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	GOOS=windows go vet ./cmd/... ./internal/cli ./internal/server
	GOOS=darwin go vet ./cmd/... ./internal/cli ./internal/server

.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME each (30s).
	@for package in ./internal/httpapi ./internal/web ./internal/petcsv ./client ./internal/cli ./internal/shop; do \
		go test -list '^Fuzz' $$package | grep ^Fuzz | sort -u | while read target; do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; done || exit 1; done

.PHONY: attack
attack: ## Attack the service with slow clients for ATTACK_SECONDS (30) per attack, while it serves others.
	scripts/slow-attack $(ATTACK_SECONDS)

.PHONY: lint-api
lint-api: ## Lint the OpenAPI document with Redocly and Spectral (from npm).
	@scripts/need npx npm
	cd api && npx --yes @redocly/cli@$(REDOCLY) lint --max-problems 1000 openapi.yaml
	cd api && npx --yes @stoplight/spectral-cli@$(SPECTRAL) lint --fail-severity hint openapi.yaml

.PHONY: soak
soak: ## Run load, kills, full disks and broken connections together for SOAK (10m), then check the store.
	@scripts/need-postgres
	SOAK=$(SOAK) go test -count 1 -run '^TestSoak$$' -timeout 0 -v ./internal/soak

.PHONY: dist
dist: ## Build the release into dist: archives, Debian packages, SBOMs, checksums.
	go run ./internal/dist

.PHONY: dist-check
dist-check: ## Build the release twice in different environments and compare byte by byte.
	scripts/dist-check

.PHONY: package-test
package-test: ## Install, upgrade, remove and purge the Debian package in a container with systemd (as root).
	scripts/package-test

.PHONY: screenshots
screenshots: ## Take the screenshots of the staff pages in docs.
	@scripts/need chromium-headless-shell chromium-headless-shell
	go test -count=1 -run TestScreenshots ./internal/staff/browser -screenshots $(CURDIR)/docs

.PHONY: bench
bench: ## Benchmark against baselines and a peer, BENCH_ROUNDS (3) rounds of BENCH_SECONDS (3) seconds, into bench/RESULTS.md (half an hour).
	@scripts/need wrk wrk
	@scripts/need nginx nginx || echo "bench: continuing without nginx" >&2
	@scripts/need pkill procps
	@scripts/need-postgres
	cd bench && go run . -seconds $(BENCH_SECONDS) -rounds $(BENCH_ROUNDS)

# Tools that the tests need besides Go: a C compiler for the race detector, curl for the examples in the documentation,
# PostgreSQL, a browser, and npm for the TypeScript example.
.PHONY: needs
needs:
	@scripts/need gcc gcc libc6-dev
	@scripts/need curl curl
	@scripts/need pkill procps
	@scripts/need npm nodejs npm
	@scripts/need chromium-headless-shell chromium-headless-shell
	@scripts/need-postgres
