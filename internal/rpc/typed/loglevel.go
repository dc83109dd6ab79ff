package typed

import v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"

// ParseLogLevel reads MCP's name of a level.
func ParseLogLevel(name string) (v1.LogLevel, bool) {
	switch name {
	case "debug":
		return v1.LogLevel_LOG_LEVEL_DEBUG, true
	case "info":
		return v1.LogLevel_LOG_LEVEL_INFO, true
	case "notice":
		return v1.LogLevel_LOG_LEVEL_NOTICE, true
	case "warning":
		return v1.LogLevel_LOG_LEVEL_WARNING, true
	case "error":
		return v1.LogLevel_LOG_LEVEL_ERROR, true
	case "critical":
		return v1.LogLevel_LOG_LEVEL_CRITICAL, true
	case "alert":
		return v1.LogLevel_LOG_LEVEL_ALERT, true
	case "emergency":
		return v1.LogLevel_LOG_LEVEL_EMERGENCY, true
	}
	return v1.LogLevel_LOG_LEVEL_UNSPECIFIED, false
}

// LogLevelName gives MCP's name of a level; false for one that is not set or not known.
func LogLevelName(level v1.LogLevel) (string, bool) {
	names := [...]string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	if level <= 0 || int(level) >= len(names) {
		return "", false
	}
	return names[level], true
}
