// Package trial makes one call of a tool of a project outside of a scene.
//
// You call [Try] with the executor of calls. The workflow of a tool runs with the calls
// that it makes, each judged by the policy and with a number of its own. There is no agent:
// a model, a task, a tool that only agents have, or an input that only an agent gives, ends
// the call with the reason.
package trial
