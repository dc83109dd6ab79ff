package origin

import "crypto/tls"

var (
	KeepAlive  = keepAlive
	RetryAfter = retryAfter
)

// Trust makes c's own transport use cfg. Call it before the first request.
func Trust(c *Client, cfg *tls.Config) { c.own.tr.Load().TLSClientConfig = cfg }
