package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxValues are the values of one answer to completion/complete, by the protocol.
const maxValues = 100

// Template is a form of URIs of documents: a client fills the variables in.
type Template struct {
	URI                          string // as of RFC 6570, such as docs://{name}
	Name, Description, MediaType string
	// Values lists what a variable can be, as often as a client asks.
	Values map[string]func(context.Context) ([]string, error)
}

// templates lists the templates.
func (s *Server) templates() *sdk.ListResourceTemplatesResult {
	r := &sdk.ListResourceTemplatesResult{ResourceTemplates: []*sdk.ResourceTemplate{}, Cacheable: private()}
	for i := range s.offer.Templates {
		t := &s.offer.Templates[i]
		r.ResourceTemplates = append(r.ResourceTemplates, &sdk.ResourceTemplate{URITemplate: t.URI, Name: t.Name, Description: t.Description, MIMEType: t.MediaType})
	}
	return r
}

// complete proposes what a variable of a template can be, after what was typed of it.
func (s *Server) complete(ctx context.Context, q *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	p := q.Params
	if p.Ref.Type != "ref/resource" {
		return nil, wrong("there are no prompts; want a reference of type ref/resource")
	}
	i := slices.IndexFunc(s.offer.Templates, func(t Template) bool { return t.URI == p.Ref.URI })
	if i < 0 {
		return nil, wrong("there is no template %.200q; resources/templates/list has all", p.Ref.URI)
	}
	values := s.offer.Templates[i].Values[p.Argument.Name]
	if values == nil {
		return nil, wrong("the template %s has no variable %.80q", p.Ref.URI, p.Argument.Name)
	}
	list, err := values(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v string) bool { return !strings.HasPrefix(v, p.Argument.Value) })
	r := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Total: len(list), HasMore: len(list) > maxValues, Values: []string{}}}
	r.Completion.Values = append(r.Completion.Values, list[:min(len(list), maxValues)]...)
	return r, nil
}

func wrong(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
