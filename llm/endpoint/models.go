package endpoint

import (
	"context"
	"encoding/json"
	"time"

	"tavernsim/llm"
)

// List asks the endpoint for the names of its models, which both protocols give in one
// form.
func (e *Endpoint) List(ctx context.Context) ([]string, error) {
	reply, err := e.Do(ctx, Ask{Path: "/models", Timeout: listTimeout})
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	data, err := reply.ReadAll()
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, e.Failed(llm.OutcomeBadOutput, "the list of models cannot be read: %s", err)
	}
	names := make([]string, len(list.Data))
	for i, m := range list.Data {
		names[i] = e.Hide(m.ID)
	}
	return names, nil
}

const listTimeout = 30 * time.Second
