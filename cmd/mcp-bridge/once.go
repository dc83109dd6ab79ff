package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcpbridge/mcp-bridge/internal/daemon"
)

// callOnce speaks to one MCP URL, for --url.
func callOnce(ctx context.Context, url string, headers map[string]string, method string, params json.RawMessage) ([]byte, error) {
	h := http.Header{}
	for name, value := range headers {
		h.Set(name, value)
	}
	return daemon.CallURL(ctx, url, h, version(), method, params)
}
