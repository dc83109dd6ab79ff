package mcp

import "slices"

// The protocol revisions. They are dates: lexical order is age.
const (
	Version20241105 = "2024-11-05"
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28"
)

// legacyVersions are the revisions with the initialize handshake, the newest
// first.
var legacyVersions = []string{Version20251125, Version20250618, Version20250326, Version20241105}

// modernVersions are the revisions with per-request metadata, the newest first.
var modernVersions = []string{Version20260728}

// KnownVersion reports whether the bridge speaks a revision.
func KnownVersion(v string) bool {
	return slices.Contains(modernVersions, v) || slices.Contains(legacyVersions, v)
}

// newestUpTo is the first of versions that is not newer than limit; an empty
// limit is none.
func newestUpTo(versions []string, limit string) (string, bool) {
	for _, v := range versions {
		if limit == "" || v <= limit {
			return v, true
		}
	}
	return "", false
}

// An Era is one of the two ways in which MCP works.
type Era uint8

const (
	// EraUnknown: not found out yet.
	EraUnknown Era = iota
	// EraLegacy has the initialize handshake: revisions up to 2025-11-25.
	EraLegacy
	// EraModern has per-request metadata: revisions from 2026-07-28.
	EraModern
)

func (e Era) String() string {
	switch e {
	case EraLegacy:
		return "legacy"
	case EraModern:
		return "modern"
	}
	return "unknown"
}
