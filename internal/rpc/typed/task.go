package typed

import (
	"errors"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// ErrNoTask means that a result holds no task.
var ErrNoTask = errors.New("no task in the result")

// CreatedTask reads the result of a request that became a task: 2025-11-25 has
// the task in a member of its own, the extension of 2026-07-28 beside resultType.
func (d Decoder) CreatedTask(result []byte) (*v1.Task, error) {
	t := &v1.Task{Server: d.Server}
	var inner *v1.Task
	var f frame
	extra, err := d.body(result, func(r *reader, o *object) {
		if o.Name == "task" {
			r.took(o, r.task(&inner))
		} else {
			r.inTask(o, t, &f)
		}
	})
	if err != nil {
		return nil, err
	}
	if inner != nil {
		t = inner
	}
	if t.Meta == nil {
		t.Meta = f.meta
	}
	if t.TaskId == "" {
		return nil, ErrNoTask
	}
	t.ExtraJson = joinExtra(t.ExtraJson, extra)
	settle(t)
	return t, nil
}

// joinExtra makes one object of two.
func joinExtra(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a[:len(a)-1] + "," + b[1:]
}

// Task reads the result of tasks/get or legacy tasks/cancel, or the params of a
// notification that carries a task.
func (d Decoder) Task(text []byte) (*v1.Task, error) {
	return whole(d, text, (*reader).task)
}

// ListTasks reads a page of tasks (2025-11-25).
func (d Decoder) ListTasks(result []byte) (*v1.ListTasksResponse, error) {
	items, f, err := page(d, result, "tasks", (*reader).task)
	if err != nil {
		return nil, err
	}
	return &v1.ListTasksResponse{Tasks: items, NextCursor: f.next}, nil
}

// SetToolResult ends t with what its tool returned. A tool that failed by itself
// has completed, though 2025-11-25 calls its task failed.
func SetToolResult(t *v1.Task, result *v1.ToolResult) {
	t.Outcome = &v1.Task_Result{Result: result}
	settle(t)
}

func settle(t *v1.Task) {
	if t.GetResult().GetIsError() && t.State == v1.TaskState_TASK_STATE_FAILED {
		t.State = v1.TaskState_TASK_STATE_COMPLETED
	}
}

func (r *reader) task(dst **v1.Task) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	t := &v1.Task{Server: r.opt.Server}
	var fr frame
	for r.next(&o) {
		r.inTask(&o, t, &fr)
	}
	t.Meta, t.ExtraJson = fr.meta, o.rest()
	settle(t)
	*dst = t
	return yes
}

// inTask reads a member of a task. The eras name some of them differently.
func (r *reader) inTask(o *object, t *v1.Task, f *frame) {
	switch o.Name {
	case "taskId":
		r.took(o, r.str(&t.TaskId))
	case "status":
		r.took(o, r.taskState(&t.State))
	case "statusMessage":
		r.took(o, r.str(&t.StateMessage))
	case "createdAt":
		r.took(o, r.str(&t.CreatedAt))
	case "lastUpdatedAt":
		r.took(o, r.str(&t.LastUpdatedAt))
	case "ttl", "ttlMs":
		r.took(o, r.ttl(t))
	case "pollInterval", "pollIntervalMs":
		r.took(o, r.millis(&t.PollInterval))
	case "inputRequests":
		r.took(o, r.inputRequests(&t.Questions))
	case "result":
		r.took(o, r.taskResult(t))
	case "error":
		r.took(o, r.taskError(t))
	default:
		r.inFrame(o, f)
	}
}

// ttl reads how long a task is kept: null means for ever.
func (r *reader) ttl(t *v1.Task) fit {
	f := r.millis(&t.Ttl)
	switch {
	case f == absent:
		t.Ttl, t.TtlUnlimited = nil, true
		return yes
	case f >= part:
		t.TtlUnlimited = false
	}
	return f
}

func (r *reader) taskState(dst *v1.TaskState) fit {
	var name string
	f := r.str(&name)
	if f != yes {
		return f
	}
	switch name {
	case "working":
		*dst = v1.TaskState_TASK_STATE_WORKING
	case "input_required":
		*dst = v1.TaskState_TASK_STATE_INPUT_REQUIRED
	case "completed":
		*dst = v1.TaskState_TASK_STATE_COMPLETED
	case "failed":
		*dst = v1.TaskState_TASK_STATE_FAILED
	case "cancelled":
		*dst = v1.TaskState_TASK_STATE_CANCELLED
	default:
		return no
	}
	return yes
}

// taskResult reads how a task ended. Only tools run as tasks so far.
func (r *reader) taskResult(t *v1.Task) fit {
	if t.GetError() != nil {
		return no
	}
	if r.raw() {
		var raw *v1.Json
		f := r.any(&raw)
		if f == yes {
			t.Outcome = &v1.Task_OtherResult{OtherResult: raw}
		}
		return f
	}
	var tool *v1.ToolResult
	var typ string
	f := r.toolResult(&tool, &typ)
	if f == yes && typ != "" && typ != Complete {
		return no
	}
	if f == yes {
		t.Outcome = &v1.Task_Result{Result: tool}
	}
	return f
}

func (r *reader) taskError(t *v1.Task) fit {
	if t.Outcome != nil && t.GetError() == nil {
		return no
	}
	o, f := r.open()
	if f != yes {
		return f
	}
	e := &v1.JsonRpcError{}
	for r.next(&o) {
		switch o.Name {
		case "code":
			r.took(&o, r.nearInt32(&e.Code))
		case "message":
			r.took(&o, r.str(&e.Message))
		case "data":
			if r.Peek() == jsonscan.Null {
				r.ReadNull()
				continue
			}
			e.DataJson = jsonscan.AsString(r.ReadRaw())
			r.took(&o, yes)
		default:
			r.keep(&o)
		}
	}
	t.Outcome = &v1.Task_Error{Error: e}
	return o.fits()
}
