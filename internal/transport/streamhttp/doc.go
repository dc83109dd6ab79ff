// Package streamhttp is the binding for Streamable HTTP, of all revisions. Each
// frame is a POST of its own, whose answer is one JSON text or an event stream.
// What differs between the revisions comes with each frame: its Link says
// whether there is a session, its Labels say which headers repeat its content.
//
// Taking up a broken stream again (Last-Event-ID) is delivery and happens here;
// sending a frame again never does.
//
// It does not know: methods, ids, which revision is which, what an answer says.
package streamhttp
