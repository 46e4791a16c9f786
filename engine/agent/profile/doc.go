// Package profile defines the static blueprint of agents in files: profiles
// (agent_profile.json, agent architecture §2.2 and appendix A) and the settings of
// a scene for its agents (custom_runtime_config). [RuntimeConfig.Limits] fills in
// every default.
//
// agent.Definition is the blueprint in its compiled form.
package profile
