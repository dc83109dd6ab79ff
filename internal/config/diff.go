package config

import (
	"reflect"
	"slices"
)

// Changes say how one configuration differs from another.
type Changes struct {
	Global  []string // keys of the file's top level, sorted
	Added   []string // names of servers, in the new order
	Removed []string // in the old order
	Changed []ServerChange
}

// Empty says whether there are none.
func (c Changes) Empty() bool {
	return len(c.Global)+len(c.Added)+len(c.Removed)+len(c.Changed) == 0
}

// A ServerChange says what changed of one server.
type ServerChange struct {
	Name string
	Keys []string // sorted
	// Relink means that links to the server have to be replaced; else its new
	// limits can be applied as it runs.
	Relink bool
}

// Diff compares two configurations. The order of servers is no difference.
func Diff(before, after *Config) Changes {
	var c Changes
	c.Global, _ = changedKeys(reflect.ValueOf(*before), reflect.ValueOf(*after))
	old := map[string]Server{}
	for _, s := range before.Servers {
		old[s.Name] = s
	}
	kept := map[string]bool{}
	for _, s := range after.Servers {
		was, ok := old[s.Name]
		if !ok {
			c.Added = append(c.Added, s.Name)
			continue
		}
		kept[s.Name] = true
		if keys, relink := changedKeys(reflect.ValueOf(was), reflect.ValueOf(s)); len(keys) > 0 {
			c.Changed = append(c.Changed, ServerChange{Name: s.Name, Keys: keys, Relink: relink})
		}
	}
	for _, s := range before.Servers {
		if !kept[s.Name] {
			c.Removed = append(c.Removed, s.Name)
		}
	}
	return c
}

// changedKeys compares the fields that have a key. A nil and an empty list or map
// are the same.
func changedKeys(a, b reflect.Value) (keys []string, relink bool) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		key := f.Tag.Get("key")
		if key == "" || same(a.Field(i), b.Field(i)) {
			continue
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		relink = relink || f.Tag.Get("link") == "yes"
	}
	slices.Sort(keys)
	return keys, relink
}

func same(a, b reflect.Value) bool {
	if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len()+b.Len() == 0 {
		return true
	}
	if a.Kind() == reflect.Struct {
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
