package faulty

import "tavernsim/internal/source"

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	p := func(doc string) source.Rule { return source.Rule{Range: &source.Range{Min: 0, Max: 1}, Doc: doc} }
	span := &source.Range{Max: 86_400, Open: true}
	return source.Rules{
		"faulty.Faults.rate_limited":      p("Failure `rate_limited`, with a hint when to come again."),
		"faulty.Faults.rate_limited_bare": p("Failure `rate_limited`, without a hint."),
		"faulty.Faults.quota":             p("Failure `quota`."),
		"faulty.Faults.unauthorized":      p("Failure `auth`."),
		"faulty.Faults.server_error":      p("Failure `server_error`."),
		"faulty.Faults.timeout":           p("Failure `timeout`, after the request's time-out, or 30s."),
		"faulty.Faults.truncated":         p("Failure `truncated`."),
		"faulty.Faults.context_too_long":  p("Failure `context`."),
		"faulty.Faults.unknown_model":     p("Failure `bad_request`."),
		"faulty.Faults.malformed":         p("Failure `bad_output`."),
		"faulty.Faults.null_content":      p("The answer has neither text nor calls."),
		"faulty.Faults.wrong_tool":        p("The answer calls a tool that does not exist."),
		"faulty.Faults.cut_arguments":     p("The arguments of the answer's calls break off; needs a call."),
		"faulty.Faults.refusal":           p("The model refuses: no text, `finish: filtered`."),
		"faulty.Faults.filtered":          p("Half the text, `finish: filtered`."),
		"faulty.Faults.length":            p("Half the text, `finish: length`."),
		"faulty.Faults.slow":              p("The answer comes `slow_for` later."),
		"faulty.Faults.retry_after":       {Range: span, Strict: true, Hint: "rate_limited_bare is without a hint", Doc: "The hint of `rate_limited`. Default 1s.", Default: "1s"},
		"faulty.Faults.slow_for":          {Range: span, Strict: true, Doc: "Of `slow`. Default 5s.", Default: "5s"},
	}
}
