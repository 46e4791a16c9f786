// Package profile defines the static configuration of agents in files: profiles
// (agent_profile.json, agent architecture §2.2 and appendix A) and the settings of
// a scene for its agents (custom_runtime_config). [RuntimeConfig.Limits] fills in
// every default.
//
// agent.Definition is the compiled profile.
package profile
