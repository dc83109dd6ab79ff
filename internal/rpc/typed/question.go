package typed

import (
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Inputs is a result of the type InputRequired: what the server must know
// before it can go on (2026-07-28 §basic/patterns, MRTR).
type Inputs struct {
	// Questions in the server's order, roots/list among them. Their ids are the
	// server's keys. One that is no request has no method.
	Questions []*v1.Question
	// State is the JSON text of requestState, to be sent back as it is; nil: none.
	State []byte
	Meta  *v1.Json
}

// Inputs reads a result of the type InputRequired.
func (d Decoder) Inputs(result []byte) (*Inputs, error) {
	in := &Inputs{}
	var f frame
	_, err := d.body(result, func(r *reader, o *object) {
		switch o.Name {
		case "inputRequests":
			r.took(o, r.inputRequests(&in.Questions))
		case "requestState":
			if r.Peek() == jsonscan.Null {
				r.ReadNull()
				return
			}
			in.State = r.ReadRaw()
		default:
			r.inFrame(o, &f)
		}
	})
	if err != nil {
		return nil, err
	}
	in.Meta = f.meta
	return in, nil
}

// inputRequests reads a map of requests. Of equal keys the last counts, in the
// first one's place.
func (r *reader) inputRequests(dst *[]*v1.Question) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	var questions []*v1.Question
	places := map[string]int{}
	all := yes
	for r.next(&o) {
		q, f := r.inputRequest(o.Name)
		if f != yes {
			all = part
		}
		if i, twice := places[o.Name]; twice {
			questions[i] = q
			all = part
			continue
		}
		places[o.Name] = len(questions)
		questions = append(questions, q)
	}
	*dst = questions
	return all
}

func (r *reader) inputRequest(key string) (*v1.Question, fit) {
	at := r.Mark()
	var method string
	var params []byte
	o, f := r.open()
	if f == no {
		r.Rewind(at)
		r.Skip()
	}
	if f != yes {
		return &v1.Question{Id: key, Server: r.opt.Server}, no
	}
	for r.next(&o) {
		switch o.Name {
		case "method":
			r.took(&o, r.str(&method))
		case "params":
			from := r.Offset()
			f := r.want(jsonscan.Object)
			if f == yes {
				r.Skip()
				params = r.Slice(from, r.Offset())
			}
			r.took(&o, f)
		default:
			r.keep(&o)
		}
	}
	q := &v1.Question{Id: key, Server: r.opt.Server, Method: method}
	if r.Err() == nil {
		r.opt.ask(q, params)
	}
	return q, o.fits()
}

// Question reads a request of the server. The caller sets its id.
func (d Decoder) Question(method string, params []byte) (*v1.Question, error) {
	q := &v1.Question{Server: d.Server, Method: method}
	if params == nil {
		return q, nil
	}
	if _, err := d.body(params, func(r *reader, o *object) { r.Skip() }); err != nil {
		return nil, err
	}
	d.ask(q, params)
	return q, nil
}

// URLQuestions reads the data of error -32042 (2025-11-25 §client/elicitation):
// one question for each URL, with the elicitation's id as its own.
func (d Decoder) URLQuestions(data []byte) ([]*v1.Question, error) {
	var questions []*v1.Question
	_, err := d.body(data, func(r *reader, o *object) {
		if o.Name != "elicitations" {
			r.Skip()
			return
		}
		r.took(o, list(r, &questions, func(r *reader, dst **v1.Question) fit {
			at := r.Offset()
			if f := r.want(jsonscan.Object); f != yes {
				return f
			}
			r.Skip()
			if r.Err() != nil {
				return no
			}
			q := &v1.Question{Server: d.Server, Method: methodElicit}
			d.ask(q, r.Slice(at, r.Offset()))
			if url := q.GetElicitation().GetUrl(); url != nil {
				q.Id = url.ElicitationId
			}
			*dst = q
			return yes
		}))
	})
	return questions, err
}

const (
	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
)

// ask fills in what a question asks. params is valid JSON, or nil.
func (d Decoder) ask(q *v1.Question, params []byte) {
	if params == nil {
		return
	}
	r := d.read(params)
	q.Params = r.newJSON(params)
	if !r.raw() {
		switch q.Method {
		case methodSample:
			if s := r.sampling(); s != nil {
				q.Kind = &v1.Question_Sampling{Sampling: s}
			}
		case methodElicit:
			if e := r.elicitation(); e != nil {
				q.Kind = &v1.Question_Elicitation{Elicitation: e}
			}
		}
	}
	_ = r.done() // read to the end before
}
