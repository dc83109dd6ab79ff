# mcp-bridge. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables

TOOLS := $(CURDIR)/bin/tools
PEERS ?= $(CURDIR)/.cache/peers
FUZZTIME ?= 10s
TESTFLAGS ?=
BENCH ?= .

# Versions of the tools. protoc-gen-go goes with google.golang.org/protobuf in go.mod.
BUF_VERSION := 1.75.0
PROTOC_GEN_GO_VERSION := v1.36.12
CONNECT_VERSION := v2.0.2
STATICCHECK_VERSION := v0.8.2

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Compile everything; the binary goes to bin/mcp-bridge
	go build ./...
	go build -trimpath -o bin/mcp-bridge ./cmd/mcp-bridge

.PHONY: run
run: ## Serve the built-in demo server on 127.0.0.1:8080
	go run ./cmd/mcp-bridge serve

.PHONY: test
test: ## Run all tests with the race detector; those that lack a tool are skipped with a reason
	MCP_BRIDGE_PEERS='$(PEERS)' go test -race -timeout 20m $(TESTFLAGS) ./...
	@echo "allocations, which the race detector would change:"
	go test -run 'Alloc|SoleCaller|FewWrites' ./internal/jsonscan ./internal/mcp ./internal/rpc/... ./internal/transport/stdio

.PHONY: peers
peers: ## Install the real MCP servers that the end-to-end tests speak to (npm, PyPI, Go), pinned
	test/peers/install.sh '$(PEERS)'

.PHONY: lint
lint: $(TOOLS)/buf $(TOOLS)/staticcheck ## vet, staticcheck, gofmt, buf lint, buf format, buf breaking
	go vet ./...
	GOOS=windows go vet ./internal/... ./cmd/...
	GOOS=darwin go vet ./internal/... ./cmd/...
	$(TOOLS)/staticcheck ./...
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' ':!gen' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(TOOLS)/buf lint
	$(TOOLS)/buf format --diff --exit-code
	@tag=$$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true); \
	if [ -n "$$tag" ]; then $(TOOLS)/buf breaking --against ".git#tag=$$tag"; \
	else echo "buf breaking: there is no release to compare with yet"; fi

.PHONY: fmt
fmt: $(TOOLS)/buf ## Format Go and proto files
	git ls-files -co --exclude-standard '*.go' ':!gen' | xargs gofmt -w
	$(TOOLS)/buf format -w

.PHONY: generate
generate: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-connect-go ## Generate gen/ from proto/
	$(TOOLS)/buf generate

.PHONY: checkgenerate
checkgenerate: generate ## Fail where gen/ is not what proto/ gives
	@if [ -n "$$(git status --porcelain gen)" ]; then git --no-pager diff --stat gen; echo "gen/ is stale: run make generate"; exit 1; fi

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s)
	test/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks, with allocations
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: check
check: lint checkgenerate build test fuzz ## All that CI runs

.PHONY: tools
tools: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-connect-go $(TOOLS)/staticcheck ## Install the pinned tools into bin/tools

# The npm package carries a binary and takes seconds; building buf takes minutes.
$(TOOLS)/buf:
	@mkdir -p $(TOOLS)
	@if command -v npm >/dev/null; then \
	  npm install --silent --no-fund --no-audit --prefix $(TOOLS)/npm @bufbuild/buf@$(BUF_VERSION) && ln -sf npm/node_modules/.bin/buf $@; \
	else GOBIN=$(TOOLS) go install github.com/bufbuild/buf/cmd/buf@v$(BUF_VERSION); fi

$(TOOLS)/protoc-gen-go:
	GOBIN=$(TOOLS) go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)

$(TOOLS)/protoc-gen-connect-go:
	GOBIN=$(TOOLS) go install connectrpc.com/connect/v2/cmd/protoc-gen-connect-go@$(CONNECT_VERSION)

$(TOOLS)/staticcheck:
	GOBIN=$(TOOLS) go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)

.PHONY: clean
clean: ## Remove what the targets above have made
	rm -rf bin .cache
