// Package fanout carries one event to many subscribers, bounded and counted.
//
// A Hub numbers the events of one source 1, 2, 3… and keeps the last of them for
// subscribers that come back. A Subscriber is the queue of one reader; it can be
// attached to many hubs at once. Publish never waits: a queue that is full first
// merges events of the same key, then drops its oldest ones, and the reader is
// told how many in the place where they would have been. For a subscriber that
// takes everything
//
//	received + merged + lost = published
//
// holds exactly, whatever the two sides do.
//
// It does not know: MCP, servers, what an event is about, who may see it.
package fanout
