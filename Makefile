# What a contributor can do. `make` alone lists it.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
REDOCLY = 2.73.0
SPECTRAL = 6.16.3
FUZZTIME ?= 30s
ATTACK_SECONDS ?= 30
BENCH_SECONDS ?= 3
BENCH_ROUNDS ?= 3
SOAK ?= 10m

.PHONY: help
help: ## List what can be made.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Run the service in this folder.
	go run ./cmd/animalstore serve

.PHONY: build
build: ## Build the static binary bin/animalstore.
	CGO_ENABLED=0 go build -trimpath -o bin/animalstore ./cmd/animalstore

.PHONY: test
test: needs vet ## Check the code and run every test with the race detector.
	go test -race -timeout 20m ./...

.PHONY: vet
vet: ## Check the code without running it: format, vet, staticcheck, and a build for each system.
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	GOOS=windows go vet ./cmd/... ./internal/cli
	GOOS=darwin go vet ./cmd/... ./internal/cli

.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME each (30s).
	@for package in ./internal/httpapi ./internal/petcsv ./client ./internal/cli ./internal/shop; do \
		go test -list '^Fuzz' $$package | grep ^Fuzz | sort -u | while read target; do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; done || exit 1; done

.PHONY: attack
attack: ## Attack the service with slow clients for ATTACK_SECONDS each (30), while others are served.
	scripts/slow-attack $(ATTACK_SECONDS)

.PHONY: lint-api
lint-api: ## Check the OpenAPI document with public linters, from npm.
	@scripts/need npx npm
	cd api && npx --yes @redocly/cli@$(REDOCLY) lint --max-problems 1000 openapi.yaml
	cd api && npx --yes @stoplight/spectral-cli@$(SPECTRAL) lint --fail-severity hint openapi.yaml

.PHONY: soak
soak: ## Let everything happen at once for SOAK (10m): kills, full disks, cut connections; then check all that is left.
	@scripts/need-postgres
	SOAK=$(SOAK) go test -count 1 -run '^TestSoak$$' -timeout 0 -v ./internal/e2e

.PHONY: dist
dist: ## Make what is given to people, into dist: archives, Debian packages, SBOMs, checksums.
	go run ./internal/dist

.PHONY: dist-check
dist-check: ## Make it twice, under other circumstances, and compare byte by byte.
	scripts/dist-check

.PHONY: package-test
package-test: ## Install, upgrade, remove and purge the Debian package on a small Debian with systemd (as root).
	scripts/package-test

.PHONY: screenshots
screenshots: ## Take the pictures of the staff pages into docs.
	@scripts/need chromium-headless-shell chromium-headless-shell
	go test -count=1 -run TestScreenshots ./internal/staff/browser -screenshots $(CURDIR)/docs

.PHONY: bench
bench: ## Measure it beside baselines and a peer, in BENCH_ROUNDS (3) rounds of BENCH_SECONDS (3) turns of a second, into bench/RESULTS.md; half an hour.
	@scripts/need wrk wrk
	@scripts/need nginx nginx || echo "bench: it goes on without nginx" >&2
	@scripts/need pkill procps
	@scripts/need-postgres
	cd bench && go run . -seconds $(BENCH_SECONDS) -rounds $(BENCH_ROUNDS)

# What the tests use beside Go: the race detector needs a C compiler, some tests paste curl lines, PostgreSQL and the browser are
# real, and the example in TypeScript is checked and run.
.PHONY: needs
needs:
	@scripts/need gcc gcc libc6-dev
	@scripts/need curl curl
	@scripts/need pkill procps
	@scripts/need npm nodejs npm
	@scripts/need chromium-headless-shell chromium-headless-shell
	@scripts/need-postgres
