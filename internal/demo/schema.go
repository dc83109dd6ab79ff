package demo

import "github.com/go-json-experiment/json/jsontext"

// The schemas of the tools.
var (
	schemaEcho = jsontext.Value(`{"type":"object","properties":{"message":{"type":"string","description":"What to say"}},"required":["message"],"additionalProperties":true}`)

	schemaAdd = jsontext.Value(`{"type":"object","properties":{"a":{"type":"number","description":"The first number"},"b":{"type":"number","description":"The second number"}},"required":["a","b"]}`)
	schemaSum = jsontext.Value(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`)

	schemaSleep = jsontext.Value(`{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":3600,"description":"How long"},"steps":{"type":"integer","minimum":1,"maximum":1000,"default":10,"description":"How many progress notifications"}},"required":["seconds"]}`)

	schemaCount = `"calls":{"type":"integer"},"finished":{"type":"integer"},"cancelled":{"type":"integer"},"running":{"type":"integer"}`
	schemaStats = jsontext.Value(`{"type":"object","properties":{` + schemaCount + `,"tools":{"type":"object","additionalProperties":{"type":"object","properties":{` + schemaCount + `}}}},"required":["calls","finished","cancelled","running","tools"]}`)

	schemaStructured = jsontext.Value(`{"type":"object","properties":{"name":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"on":{"type":"boolean"},"none":{"type":"null"},"tags":{"type":"array","items":{"type":"string"}},"point":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"},"label":{"type":"object","additionalProperties":{"type":"string"}}}}},"required":["name","count","ratio","on","none","tags","point"]}`)

	schemaMessage = jsontext.Value(`{"type":"object","properties":{"message":{"type":"string","description":"What to say about the failure"}}}`)

	schemaError = jsontext.Value(`{"type":"object","properties":{"code":{"type":"integer","description":"The code, such as -32603"},"message":{"type":"string"},"data":{"description":"Any JSON value"}},"required":["code"]}`)

	schemaLog = jsontext.Value(`{"type":"object","properties":{"level":{"type":"string","enum":["debug","info","notice","warning","error","critical","alert","emergency"],"default":"info"},"message":{"type":"string"}},"required":["message"]}`)

	schemaNotify = jsontext.Value(`{"type":"object","properties":{"count":{"type":"integer","minimum":1,"maximum":1000,"default":1,"description":"How many"},"kind":{"type":"string","enum":["log","list_changed","resource_updated"],"default":"log"},"list":{"type":"string","enum":["tools","resources","prompts"],"default":"tools","description":"Which list, for list_changed"},"uri":{"type":"string","default":"demo://clock","description":"Which resource, for resource_updated"},"outside":{"type":"boolean","default":false,"description":"For log: outside the call, to all clients of the older revisions"},"pause":{"type":"number","minimum":0,"maximum":60,"default":0,"description":"Seconds between two of them"}}}`)

	schemaBlob = jsontext.Value(`{"type":"object","properties":{"bytes":{"type":"integer","minimum":0,"maximum":50331648}},"required":["bytes"]}`)

	schemaRoute = jsontext.Value(`{"type":"object","properties":{"region":{"type":"string","description":"Where to","x-mcp-header":"Region"},"weight":{"type":"integer","x-mcp-header":"Weight"}},"required":["region"]}`)

	schemaAsk = jsontext.Value(`{"type":"object","properties":{"what":{"type":"string","enum":["form","url","sampling","roots"],"default":"form","description":"Whom to ask for what"},"question":{"type":"string","description":"The words of the question"},"rounds":{"type":"integer","minimum":1,"maximum":5,"default":1,"description":"How many questions, one after the other"}}}`)

	formSchema = jsontext.Value(`{"type":"object","properties":{"name":{"type":"string","title":"Name","description":"How shall we call you?"},"color":{"type":"string","title":"Colour","enum":["red","green","blue"]},"age":{"type":"integer","title":"Age","minimum":0,"maximum":150}},"required":["name"]}`)
)
