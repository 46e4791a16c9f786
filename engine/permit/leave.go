package permit

import "tavernsim/protocol"

// Leave is the answer to a question whether a call may be made.
type Leave struct {
	Yes    bool
	By     string
	Reason string
	// Contents are the ids of what the references of the call led to when leave was asked
	// for, by URI: the leave is for them. nil = it has none that could change.
	Contents map[string]string
}

// What answers.
const (
	ByPolicy  = "policy"
	ByFile    = "file"    // a rule of the operator
	ByPerson  = "person"  // somebody
	ByService = "service" // a service of a plugin, which takes the place of persons
	BySilence = "silence" // nobody, in the time that there was
	ByNever   = "never"   // nobody, in this run
	ByFailure = "failure" // whoever was to be asked could not be
)

// Value is the leave as the output of a request.
func (l Leave) Value() map[string]any {
	v := map[string]any{"yes": l.Yes, "by": l.By, "reason": l.Reason}
	if len(l.Contents) > 0 {
		contents := map[string]any{}
		for uri, id := range l.Contents {
			contents[uri] = id
		}
		v["contents"] = contents
	}
	return v
}

// ReadLeave reads the answer to a request. Whatever is no leave is a refusal.
func ReadLeave(output any, err error) (l Leave) {
	if err != nil {
		return Leave{By: ByFailure, Reason: err.Error()}
	}
	v, _ := output.(map[string]any)
	l.Yes, _ = v["yes"].(bool)
	l.By, _ = v["by"].(string)
	l.Reason, _ = v["reason"].(string)
	if contents, _ := v["contents"].(map[string]any); len(contents) > 0 {
		l.Contents = map[string]string{}
		for uri, id := range contents {
			l.Contents[uri], _ = id.(string)
		}
	}
	return l
}

// Denial says by which rule a call is denied, and why.
func Denial(tool string, v Verdict, l Leave) *protocol.Error {
	text := tool + ": no rule of tool_policy allows this call"
	if v.Rule != "" {
		text = tool + ": denied by the rule " + v.Rule + " of tool_policy"
	}
	if v.Do == Ask {
		text += ", which asks for leave; " + Why(l.By)
	}
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return protocol.Errorf(protocol.KindDenied, "%s", text)
}

// Why says why there was no yes.
func Why(by string) string {
	switch by {
	case ByNever:
		return "nobody answers in this run"
	case BySilence:
		return "nobody answered in time"
	case ByFile, ByPerson, ByService:
		return "the answer was no"
	}
	return "there was no answer"
}
