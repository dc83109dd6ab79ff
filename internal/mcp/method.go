package mcp

import "strings"

// Methods that the package itself must know.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodPing       = "ping"
	methodListen     = "subscriptions/listen"

	notificationInitialized = "notifications/initialized"
	notificationCancelled   = "notifications/cancelled"
	notificationProgress    = "notifications/progress"
	notificationMessage     = "notifications/message"
)

// SubjectOf is the member of a request's params that names what it is about, for
// bindings that repeat it in a header (2026-07-28 §transports, Standard Headers);
// empty: the method has none.
func SubjectOf(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	}
	if strings.HasPrefix(method, "tasks/") {
		return "taskId"
	}
	return ""
}
