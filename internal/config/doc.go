// Package config turns a configuration file into a checked value: YAML or JSON,
// of our own or written for another MCP client, with environment variables and
// files put in.
//
// It is strict. An unknown key, a wrong type, a duplicate name, a variable that
// is not set: each is an error with file, line and column, and all of a file's
// errors are told together. Only keys that other clients are known to write, and
// that mean nothing here, become warnings.
//
// Load and Parse read the file, Default is what holds without one, ParseTarget
// makes a server of a piece of a command line, Diff compares two configurations.
//
// It does not know: how anything in it is used. It starts nothing, speaks no
// protocol and reads no environment but the one that it is handed.
package config
