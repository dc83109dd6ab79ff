//go:build race

package stdio_test

const raceEnabled = true // sync.Pool forgets on purpose
