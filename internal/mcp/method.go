package mcp

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
