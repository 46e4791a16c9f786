package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Counting tells of each request that has ended, and whether its outcome is ok, error, timeout
// or cancelled. A call whose tool says that it failed is an error, too.
func Counting(asked func(method, outcome string)) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
			r, err := next(ctx, method, q)
			outcome := "ok"
			called, _ := r.(*sdk.CallToolResult)
			switch {
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				outcome = "timeout"
			case ctx.Err() != nil:
				outcome = "cancelled"
			case err != nil || called != nil && called.IsError:
				outcome = "error"
			}
			asked(method, outcome)
			return r, err
		}
	}
}
