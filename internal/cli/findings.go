package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// A Finding is what a check found of one server. A number is -1 where the server
// has no such list.
type Finding struct {
	Server          string `json:"server"`
	Transport       string `json:"transport"`
	Error           string `json:"error,omitempty"`
	Protocol        string `json:"protocol,omitempty"`
	Software        string `json:"software,omitempty"`
	SoftwareVersion string `json:"softwareVersion,omitempty"`
	Tools           int    `json:"tools"`
	Resources       int    `json:"resources"`
	Prompts         int    `json:"prompts"`
}

// PrintFindings prints what a check found; its error says that a server failed.
func PrintFindings(c *Context, findings []Finding, asJSON bool) error {
	failed := 0
	for _, f := range findings {
		if f.Error != "" {
			failed++
		}
	}
	if asJSON {
		b, err := json.Marshal(findings)
		if err != nil {
			return err
		}
		if err := c.printLaidOut(b, true); err != nil {
			return err
		}
	} else if err := printFindings(c, findings); err != nil {
		return err
	}
	if failed > 0 {
		return &FailedError{Text: fmt.Sprintf("%d of %d servers failed", failed, len(findings))}
	}
	return nil
}

func printFindings(c *Context, findings []Finding) error {
	st := c.out()
	t := &table{head: []string{"SERVER", "TYPE", "RESULT", "PROTOCOL", "SOFTWARE", "TOOLS", "RESOURCES", "PROMPTS"}}
	for _, f := range findings {
		if f.Error != "" {
			t.add(f.Server, f.Transport, "failed", "", "", "", "", "")
			continue
		}
		software := f.Software
		if f.SoftwareVersion != "" {
			software += " " + f.SoftwareVersion
		}
		t.add(f.Server, f.Transport, "ok", f.Protocol, software, listed(f.Tools), listed(f.Resources), listed(f.Prompts))
	}
	t.look = func(row, column int, cell string) string {
		switch {
		case column != 2:
			return cell
		case findings[row].Error != "":
			return st.red(cell)
		}
		return st.green(cell)
	}
	if _, err := io.WriteString(c.Stdout, t.text(c.limit(false), st)); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Error != "" {
			if err := c.print(f.Server + ": " + f.Error); err != nil {
				return err
			}
		}
	}
	return nil
}

func listed(n int) string {
	if n < 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
