package nodes_test

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/protocol/picture"
)

const shown = `{"uri": "data:image/png;base64,iVBORw=="}`

// Pictures stand with the prompt and with messages; of those that calls have brought, the
// newest stay.
func TestPictures(t *testing.T) {
	found := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"uri": "artifact:sha256-%064d", "mediaType": "image/png", "found": true}`, i)
		}
		return `{"role": "tool", "text": "x", "callId": "c", "images": [` + strings.Join(list, ", ") + `]}`
	}
	for _, c := range []struct{ inputs, want, fault string }{
		{`"images": [` + shown + `]`, "user 1", ""},
		{`"prompt": "", "images": [` + shown + `]`, "user 1", ""},
		{`"conversation": [` + found(3) + `]`, "user 0, tool 3", ""},
		{`"images": [` + shown + `], "conversation": [` + found(10) + `, ` + found(10) + `]`, "user 1, tool 5, tool 10", ""},
		{`"images": [` + strings.Repeat(shown+", ", picture.Most) + shown + `]`, "", "17 images; a request may have 16"},
		{`"images": [{"uri": "x"}]`, "", `image 0: uri "x": want fam://`},
		{`"messages": [{"role": "assistant", "text": "x", "images": [` + shown + `]}]`, "", "message 0: images of the role assistant: want user or tool"},
		{`"messages": [{"role": "user", "images": [7]}]`, "", "message 0: image 0: want an object"},
	} {
		requests, _, err := asked(t, `{}`, `, "inputValues": {"prompt": "p", `+strings.TrimPrefix(c.inputs, `"prompt": "", `)+`}`, protocol.ModelAnswer{Text: "a"})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || len(requests) > 0 {
				t.Errorf("%.200s: %v, want %q", c.inputs, err, c.fault)
			}
			continue
		}
		if err != nil || len(requests) != 1 {
			t.Errorf("%.200s: %v", c.inputs, err)
			continue
		}
		var got []string
		for _, m := range requests[0].Messages {
			got = append(got, fmt.Sprint(m.Role, " ", len(m.Images)))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%.200s: %q, want %q", c.inputs, got, c.want)
		}
		if last := requests[0].Messages[len(got)-1]; len(got) > 2 && last.Images[9].URI != fmt.Sprintf("artifact:sha256-%064d", 9) {
			t.Errorf("%+v", last)
		}
	}
}
