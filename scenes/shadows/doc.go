// Package shadows runs turns of agents ahead of the committed run of a scene.
//
// The committed run goes wave by wave and waits for the slowest answer of each. A [Driver] runs
// later turns meanwhile, on copies of the agents' machines ("shadows"). A shadow asks models through
// the same runner, and leaves only answers in the log of effects. The turn itself begins
// with its wave and decides its own requests. It finds the answer if its question is the
// same, or joins the call if that is still in flight. So a wrong prediction costs a call, and never changes a fact.
//
// Package schedule decides which turns may begin. The driver holds their inputs: the
// state of each agent after its last turn, and for each moment a world: the committed one with the requests of
// earlier turns. It learns the state of the committed run from the ends of turns and waves.
//
// You [Start] a driver before the scene's actors, tell it of each committed turn ([Driver.Turned])
// before the stage hears of it, and of each wave ([Driver.Closed]), and Close it before the log of
// effects. A nil Driver does nothing.
//
// # Promises
//
//  1. A shadow leaves only answers in the log of effects. Facts, digest and refusals are
//     those of a run without a driver, even if shadows see wrong inputs ([Options.Lie]).
//
//  2. Tracked: a turn runs ahead only if no earlier turn that is still to come can change what its
//     workflows can read. If a turn learns the result of a request later (a lease, a state command, a base, an answer
//     that it always wants), its agent, and every agent that reads the result, waits until the wave
//     that decides the request has ended. Calls are wasted only if a request that was predicted to be granted is
//     refused (changes of the world by an agent that reads what it writes are predicted), the scene itself wakes an agent (a publication, an expiry in the world) or its script
//     reacts to an event, an agent is moved elsewhere or
//     fails, an order without a time comes, or the scene ends. The end of a ttl or lease is predicted, and turns wait for actions of the
//     script and orders at a known time. In every mode no more calls are made ahead when 50, and a tenth of the calls of
//     committed turns or, if that is more, of those made ahead, were wasted.
//
//  3. A panic of a shadow is counted, and its agent no longer runs ahead. A fault of the driver
//     ends running ahead ([Counts].Off), and the scene continues.
//
//  4. A call of a shadow leaves a gate after all others ([Class]). It is made only if it may be
//     repeated. When the shadow is dropped, the call is not sent; a call that was sent continues.
//
//  5. Under budgets, calls ahead whose answers no turn has used, and wasted calls, stay within a tenth of each
//     limit, and within what is left. They are in no ledger of the scene.
//
// # Space
//
// In a scene with a grid the driver holds the course of each agent: its walk if no agent
// blocks it. A turn ahead sees the agents nearby by their courses, and is told how its own walk
// ends. A turn waits only for agents behind it that may come near until then. No agent walks faster
// than the speed, and only agents nearby hear an event whose reach is bounded.
//
// # Events
//
// The id of an event comes from the turn that published it, so turns ahead may show it. Tracked: a turn
// ahead hears the events of earlier turns as the event channel would route them (package heard).
// Speculative: it waits until the event is a fact. A turn also waits if its agent heard two agents at
// one moment, since their order in the wave is not predicted. It waits as well if its agent heard
// an event of the world or of a step over a border, an urgent or ephemeral one, or one that a
// rate, middleware, debounce or group decides about. It waits for a held event until the channel releases it. An event of an
// earlier turn is heard at its own moment if something expires in the world then; agents that may hear it wait.
//
// # What is not predicted
//
// Turns of agents whose prompts may name world_version, that events interrupt, or that have not
// perceived an ephemeral event yet; of agents whose events may come to a lane that blocks, of those that walk where cells or
// places may be full, with whoever may be near, and of those that read bases of which entries lack vectors; whatever follows a call of a tool, a question to a hook, a request
// to knowledge bases or tasks, state commands, leases, requests that want an answer, walks to another
// agent, and LookTool, which counts all agents, and what the channel or the space refuses: such turns wait for the committed run. Scenes on the realtime clock, with turns, or with places without a grid are
// refused. If an agent leaves the map the driver stops running ahead.
//
// # Limits
//
// An agent is at most 60 turns ahead; a scene has at most [MaxAgents]. When a scene may end at any
// wave (a limit of deliberations, events, tokens or dollars, a condition, a wall time, a budget that
// ends or pauses it, a script), at most 50 calls and a tenth of those used so far are ahead. The same bound applies under
// speculative if agents that only events wake reach others: an agent without a next turn has no known risk.
package shadows
