package upstream

import "time"

// A State is where a session stands.
type State uint8

const (
	// Idle: nobody has asked for it yet.
	Idle State = iota
	// Starting: dialling, or in the handshake.
	Starting
	// Ready: takes requests.
	Ready
	// BackingOff: failed, and will be started again by itself.
	BackingOff
	// Failed: failed too often; started again by a request after the cool-down.
	Failed
	// Unauthorized: the server wants credentials that the bridge does not have.
	Unauthorized
	// Closed: ended for good.
	Closed
)

func (s State) String() string {
	return [...]string{"idle", "starting", "ready", "backing off", "failed", "unauthorized", "closed"}[s]
}

// A Status is a session's state and what belongs to it.
type Status struct {
	State  State
	Reason string // why, for people
	Since  time.Time
	// Restarts counts the links after the first one.
	Restarts int
	// Retry is when the next try begins by itself, in BackingOff.
	Retry time.Time
}
