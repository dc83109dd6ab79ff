// Package telemetry makes what tells an operator how the bridge is doing: its
// log. What it makes is handed out as values; nothing is global.
//
// It does not know what is logged.
package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger makes a logger: format is "text" or "json", level "debug", "info",
// "warn" or "error".
func NewLogger(w io.Writer, format, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
