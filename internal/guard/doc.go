// Package guard ends the children of a bridge that was killed. A parent-death
// signal can't: it follows the thread that forked, and grandchildren do not get
// it.
//
// The guard is a second process of the same binary. It holds the read end of a
// pipe whose write end only the bridge has, and is told each child by line. When
// the pipe ends, the bridge is gone, however it went; what is left then gets
// SIGTERM, and after Grace SIGKILL.
//
// A child is announced before it is forked, by the inodes of the pipes that will
// be its standard streams: whoever holds one of them is the child, even between
// fork and exec, or a descendant, even one with a session of its own. When the
// child runs its process group is added, with the start time of its leader,
// against reuse of the number.
//
// The limits: a descendant that has both left the group (setsid) and let go of
// the three standard pipes is not found. If bridge and guard are killed at the
// same time nobody is left to act; a guard that is killed alone is replaced.
// Without /proc there are only the groups, unchecked.
//
// It does not know: what the children are for, pipes' contents, configuration.
package guard
