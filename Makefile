# Tasks for contributors. Run `make` to list them.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
REDOCLY = 2.73.0
SPECTRAL = 6.16.3
FUZZTIME ?= 30s
ATTACK ?= 10s
ATTACK_ANIMALS ?= 1000000
PLANS_ANIMALS ?= 5000000
BENCH_PAIRS ?= 7
BENCH_PROFILES ?= 1000000
SOAK ?= 10m
SEEDS ?= 1 2 3
ROUNDS ?= 3

# The packages whose own goroutines share memory. make test runs their tests with the race detector, which makes
# everything ten times slower; make test-race does so for all packages.
RACE = /internal/(admission|server|shop|singleflight|web|webhook|sqlstore/.*)$$
# Tests of these packages that do the same work again and again in one goroutine.
SEQUENTIAL = ^(TestServiceFollowsTheModel|TestLettersAreFoldedLikeTexts|TestFold)$$
SLOW = ./internal/staff/browser ./internal/e2e ./internal/sqlstore ./internal/httpapi/docs
# The packages whose tests take many minutes or need more tools. Each has a target of its own, which runs all of its tests.
BY_HAND = (/bench|/internal/(attack|conformance|hatest|plans|proxy|soak|upgrade))$$

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Every day

.PHONY: run
run: ## Run the service in this folder.
	go run ./cmd/animalstore serve

.PHONY: build
build: ## Build the static binary bin/animalstore.
	CGO_ENABLED=0 go build -trimpath -o bin/animalstore ./cmd/animalstore

.PHONY: check
check: ## After each edit, in less than a minute: gofmt, vet, staticcheck, and the unit tests of the packages that changed.
	@scripts/check

.PHONY: test
test: needs ## Before each commit: run everything that must pass.
	@$(MAKE) --no-print-directory --jobs 3 lint test-without-race test-with-race

# Many tests wait, for example for a server to start. So these run at the same time, and the slowest packages come first.
.PHONY: test-without-race test-with-race
test-without-race:
	go test -vet=off -timeout 30m -parallel 4 $(SLOW) $$(go list ./... | grep -vE '$(RACE)|$(BY_HAND)')
	go test -vet=off -timeout 30m -run '$(SEQUENTIAL)' ./internal/shop
test-with-race:
	go test -vet=off -race -timeout 30m -skip '$(SEQUENTIAL)' $$(go list ./... | grep -E '$(RACE)')

.PHONY: lint
lint: ## Check the code without running it: gofmt, vet, staticcheck.
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

##@ Before a release

.PHONY: test-race
test-race: needs ## Run all tests with the race detector, in the program, too.
	ANIMALSTORE_TEST_RACE=1 go test -race -count=1 -timeout 40m ./...

# The first run takes minutes, because it compiles the dependencies for these systems. make test checks only the
# types.
.PHONY: vet
vet: ## Vet the code for Windows and macOS.
	GOOS=windows go vet ./cmd/... ./internal/cli ./internal/server
	GOOS=darwin go vet ./cmd/... ./internal/cli ./internal/server

.PHONY: mutate
mutate: needs ## Break the product in many ways, one at a time, and expect a test to fail each time; MUTANT selects by name.
	go run ./internal/mutate -run '$(MUTANT)'

.PHONY: bare-test
bare-test: ## Run make test in a minimal Debian that has only Go, git and make (as root).
	scripts/bare-test

.PHONY: soak
soak: ## Run load, kills, full disks and broken connections together for SOAK (10m), then check the store.
	@scripts/need-postgres
	SOAK=$(SOAK) go test -count 1 -timeout 0 -v ./internal/soak

.PHONY: upgrade-test
upgrade-test: ## Upgrade stores of versions 1.0 and 1.1, built from their commits, on SQLite and PostgreSQL, and kill the migration (6 minutes).
	@scripts/need pkill procps
	@scripts/need-postgres
	go test -count 1 -timeout 0 -v ./internal/upgrade -upgrade

.PHONY: layout-test
layout-test: ## Look for actions that are covered, off screen or too small on every staff page, at every 20 pixels, in light and in dark colours (5 minutes).
	@scripts/need chromium-headless-shell chromium-headless-shell chromium-sandbox
	go test -count 1 -timeout 30m -run TestActionsAreReachableAtEveryWidth ./internal/staff/browser -every-width

.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME each (30s).
	@for package in ./internal/httpapi ./internal/web ./internal/petcsv ./client ./internal/cli ./internal/shop ./internal/photo; do \
		go test -list '^Fuzz' $$package | grep ^Fuzz | sort -u | while read target; do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; done || exit 1; done

.PHONY: plans
plans: ## Send every kind of request to a store of PLANS_ANIMALS (5000000) on PostgreSQL, and print the cost of each statement's plan (20 minutes).
	@scripts/need-postgres
	go test -count 1 -timeout 0 -v ./internal/plans -animals $(PLANS_ANIMALS)

.PHONY: attack
attack: ## Attack the service in every known way, for ATTACK (10s) each, while a shop works; ONLY selects attacks by name (20 minutes).
	@scripts/need-postgres
	go test -count 1 -timeout 0 -v ./internal/attack -attack $(ATTACK) -animals $(ATTACK_ANIMALS) -only '$(ONLY)'

.PHONY: postgres-versions
postgres-versions: ## Run the store's tests and the program on PostgreSQL 13 to 18 and behind PgBouncer; 10 and 12 must be refused; VERSIONS selects (10 minutes).
	@scripts/need mvn maven
	@scripts/need xz xz-utils
	@scripts/need pkill procps
	@scripts/need-postgres
	@test -x /usr/sbin/pgbouncer || scripts/need pgbouncer pgbouncer
	go run ./internal/pgversions -run '$(VERSIONS)'

.PHONY: ha-test
ha-test: ## Kill and freeze the leader of a PostgreSQL cluster with Patroni (from PyPI) and etcd, ROUNDS (3) times each, under load (8 minutes).
	@scripts/need python3 python3 python3-venv
	@scripts/need etcd etcd-server
	@scripts/need-postgres
	tool=$$(scripts/pypi-tool patroni internal/hatest/requirements.txt) && go test -count 1 -timeout 30m -v ./internal/hatest -patroni "$$tool" -rounds $(ROUNDS)

.PHONY: proxy-test
proxy-test: ## Sell animals behind a caching proxy (Squid) and expect them to be gone with the next request.
	@scripts/need squid squid
	@scripts/need-postgres
	go test -count 1 -v ./internal/proxy

.PHONY: lint-api
lint-api: ## Lint the OpenAPI document with Redocly and Spectral (from npm).
	@scripts/need npx npm
	cd api && npx --yes @redocly/cli@$(REDOCLY) lint --max-problems 1000 openapi.yaml
	cd api && npx --yes @stoplight/spectral-cli@$(SPECTRAL) lint --fail-severity hint openapi.yaml

.PHONY: clients
clients: ## Generate clients from the OpenAPI document, use the service and a later version of it with each, and the service with a client of version 1.1; ONLY selects them by name.
	@scripts/need java default-jdk-headless
	@scripts/need mvn maven
	@scripts/need python3 python3 python3-venv
	@scripts/need cargo cargo
	@scripts/need jq jq
	@scripts/need npm nodejs npm
	go run ./clients -only '$(ONLY)'

.PHONY: conformance
conformance: ## Test the service against its OpenAPI document with Schemathesis (from PyPI); SEEDS (1 2 3) selects the requests (15 to 25 minutes).
	@scripts/need python3 python3 python3-venv
	@scripts/need-postgres
	tool=$$(scripts/pypi-tool schemathesis internal/conformance/requirements.txt) && go test -count 1 -timeout 0 -v ./internal/conformance -schemathesis "$$tool" -seeds '$(SEEDS)'

.PHONY: dist
dist: ## Build the release into dist: archives, Debian packages, SBOMs, checksums.
	go run ./internal/dist

.PHONY: dist-check
dist-check: ## Build the release twice in different environments and compare byte by byte.
	scripts/dist-check

.PHONY: package-test
package-test: ## Install, upgrade, remove and purge the Debian package in a container with systemd (as root).
	scripts/package-test

##@ By hand

.PHONY: cover
cover: needs ## Show what the tests execute: a table of the packages, and the functions that nothing executes.
	@scripts/cover

# make test runs the examples in TypeScript and Python, but not the one in Java, whose tools are large.
.PHONY: examples
examples: ## Run the examples in TypeScript, Python and Java against the service (with npm, Python, a JDK and Maven).
	@scripts/need npm nodejs npm
	@scripts/need python3 python3
	@scripts/need javac default-jdk-headless
	@scripts/need mvn maven
	go test -count=1 -run Example -timeout 20m ./internal/httpapi/docs -java

.PHONY: screenshots
screenshots: ## Take the screenshots of the staff pages in docs, and of every page into dist/screenshots.
	@scripts/need chromium-headless-shell chromium-headless-shell chromium-sandbox
	go test -count=1 -timeout 30m -run TestScreenshots ./internal/staff/browser -screenshots $(CURDIR)/docs -gallery $(CURDIR)/dist/screenshots

.PHONY: bench
bench: ## Benchmark beside version 1.1 and a bare handler, BENCH_PAIRS (7) pairs of turns for each case, into bench/RESULTS.md (20 minutes); ONLY selects cases by name and writes no file.
	@scripts/need wrk wrk
	@scripts/need-postgres
	go test -count 1 -run '^TestBench$$' -timeout 0 -v ./bench -pairs $(BENCH_PAIRS) -only '$(ONLY)'

.PHONY: bench-profiles
bench-profiles: ## Compare pages of profiles with pages of animals in a store of BENCH_PROFILES (1000000), BENCH_PAIRS (7) turns for each kind of page.
	@scripts/need wrk wrk
	@scripts/need-postgres
	go test -count 1 -run '^TestProfiles$$' -timeout 0 -v ./bench -pairs $(BENCH_PAIRS) -profiles $(BENCH_PROFILES)

.PHONY: bench-staff
bench-staff: ## Compare the list of animals on the staff pages with that of version 1.1, in a store of BENCH_PROFILES (1000000) animals with photos, BENCH_PAIRS (7) pairs of turns for each kind of page.
	@scripts/need wrk wrk
	go test -count 1 -run '^TestStaffList$$' -timeout 0 -v ./bench -pairs $(BENCH_PAIRS) -profiles $(BENCH_PROFILES)

.PHONY: bench-photos
bench-photos: ## Compare the service with a bare handler that sends the same photos, BENCH_PAIRS (7) pairs of turns for each size (2 minutes).
	@scripts/need wrk wrk
	@scripts/need-postgres
	go test -count 1 -run '^TestPhotos$$' -timeout 0 -v ./bench -pairs $(BENCH_PAIRS)

.PHONY: bench-window
bench-window: ## Compare the shop window with a bare handler (SQLite) and with the list of animals (PostgreSQL), BENCH_PAIRS (7) pairs of turns (1 minute).
	@scripts/need wrk wrk
	@scripts/need-postgres
	go test -count 1 -run '^TestWindow$$' -timeout 0 -v ./bench -pairs $(BENCH_PAIRS)

# Tools that the tests need besides Go: a C compiler for the race detector, curl for the examples in the
# documentation, shells for the tests of command completion, PostgreSQL, a browser, and npm and Python for the
# examples in these languages.
.PHONY: needs
needs:
	@missing=0; \
	scripts/need gcc gcc libc6-dev || missing=1; \
	scripts/need curl curl || missing=1; \
	scripts/need pkill procps || missing=1; \
	scripts/need bash bash || missing=1; \
	scripts/need zsh zsh || missing=1; \
	scripts/need fish fish || missing=1; \
	scripts/need npm nodejs npm || missing=1; \
	scripts/need python3 python3 || missing=1; \
	scripts/need chromium-headless-shell chromium-headless-shell chromium-sandbox || missing=1; \
	scripts/need-postgres || missing=1; \
	exit $$missing
