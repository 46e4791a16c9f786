# make lists the targets. Everything here also works as a plain go command; CONTRIBUTING.md says which.
GO ?= go
TOOL = $(GO) tool -modfile=internal/devtools/go.mod
FUZZTIME ?= 30s
BENCHTIME ?= 1s

.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz bench crash check

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

build: ## bin/simd, static
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/simd ./cmd/simd

test: ## every test
	$(GO) test -shuffle=on -timeout 20m ./...

race: ## every test that can race, under the race detector
	.ci/race

lint: ## gofmt, golangci-lint with the rules of vet
	@test -z "$$(gofmt -l . | grep -v testdata)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(TOOL) golangci-lint run ./...

fuzz: ## every fuzz target for FUZZTIME (default 30s)
	.ci/fuzz $(FUZZTIME)

bench: ## every benchmark for BENCHTIME, in the form benchstat reads
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

crash: ## the long crash suites, and all checks of random scenes
	SIMD_TEST_LONG=1 $(GO) test -run 'Crash|Kill|Random|EverySchedule|OneDigest|BlockingGraphs|TheChannelGoesOn|Travel|LostAttempts|FewPlaces' -timeout 60m ./persistence/... ./scenes/... ./cmd/...

check: lint test race ## what must pass before a change is handed in
