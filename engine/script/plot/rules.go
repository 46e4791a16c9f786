package plot

import (
	"math"

	"tavernsim/engine/collab"
	"tavernsim/internal/source"
)

// Rules say of the fields of a script what their types do not.
func Rules() source.Rules {
	const section = "§3.1.3"
	above, share := &source.Range{Max: math.Inf(1), Open: true}, &source.Range{Max: 1}
	return source.Rules{
		"plot.Definition.variables": {Section: section, MaxItems: MaxVariables, Doc: "Variables with their first values. Only these can be set."},
		"plot.Definition.start":     {Section: section, Doc: "State in which the scene begins. Default: the first."},
		"plot.Definition.states":    {Section: section, Required: true, MaxItems: MaxStates, Doc: "The states."},
		"plot.Definition.schedules": {Section: section, MaxItems: MaxSchedules, Doc: "What happens at moments of scene time."},
		"plot.Definition.outcome":   {Section: section, Doc: "What the scene comes to when it ends and no action `end` has said so."},

		"plot.StateDefinition.id":          {Section: section, Required: true, Doc: "Name of the state. At most 200 bytes."},
		"plot.StateDefinition.context":     {Section: section, Doc: "Template over `vars`, `collected` and `state`: what agents are told, as `scene.context`."},
		"plot.StateDefinition.active":      {Section: section, MaxItems: 1000, Strict: true, Hint: "left out, all are woken; for nobody, on_enter: [{rest: {agents: \"*\"}}] and on_leave: [{wake: {agents: \"*\"}}]", Doc: "Selectors of the agents that are woken. The others rest: they hear events and are not woken. Default: all."},
		"plot.StateDefinition.turns":       {Section: section, Doc: "Whose turn it is in this state, in the place of the scene's [turns](scene.md#turns): the order begins anew when the state is entered."},
		"plot.StateDefinition.collect":     {Section: section, MaxItems: MaxCollections, Doc: "Answers that are collected, from when the scene enters the state."},
		"plot.StateDefinition.on_enter":    {Section: section, MaxItems: MaxActions, Doc: "Actions when the scene enters the state."},
		"plot.StateDefinition.on_leave":    {Section: section, MaxItems: MaxActions, Doc: "Actions when it leaves the state."},
		"plot.StateDefinition.transitions": {Section: section, MaxItems: MaxTransitions, Doc: "Ways to other states; the first that holds is taken, at most one in a wave."},

		"plot.Transition.to":    {Section: section, Required: true, Doc: "Id of a state; its own: it is entered again."},
		"plot.Transition.when":  {Section: section, Doc: "Expression over `world`, `scene`, `vars`, `collected`, `agents`."},
		"plot.Transition.on":    {Section: section, Doc: "Type of an event that is published in the wave."},
		"plot.Transition.if":    {Section: section, Doc: "Expression as `when`, also over `event`, the one of `on`."},
		"plot.Transition.after": {Section: section, Range: above, Doc: "Scene time since the state was entered."},

		"plot.Collect.id":       {Section: section, Required: true, Doc: "Name of the collection, one in the script."},
		"plot.Collect.event":    {Section: section, Required: true, Doc: "Type of the events that are answers; the payload is the answer."},
		"plot.Collect.from":     {Section: section, Required: true, MaxItems: 1000, Doc: "Selectors of the agents that are asked."},
		"plot.Collect.question": {Section: section, Doc: "What they are asked; any value, with expressions as in actions."},
		"plot.Collect.schema":   {Section: section, Doc: "JSON Schema of an answer: an object, or the path of a file within the project."},
		"plot.Collect.secret":   {Section: section, Default: false, Doc: "Only the scene hears the answers while the collection is open."},
		"plot.Collect.if":       {Section: section, Doc: "Expression as `when`, also over `event`, the answer: what does not hold is refused as `invalid`."},
		"plot.Collect.tally":    {Section: section, Doc: "Field of the answers that is the ballot; dots lead into objects. Without `voting` it is a text, the most frequent one wins, and a tie is drawn by the seed."},
		"plot.Collect.voting":   {Section: section, Doc: "How the ballots of `tally` are counted."},
		"plot.Collect.auction":  {Section: section, Doc: "The answers are bids, which are settled so."},
		"plot.Collect.until":    {Section: section, Doc: "When the collection closes; also when the scene leaves the state. Default: when all have answered."},

		"collab.Voting.method":   {Section: "§5", Enum: collab.Methods(), Default: collab.Plurality, Doc: "What a ballot is and how many points it gives."},
		"collab.Voting.options":  {Section: "§5", MaxItems: collab.MaxOptions, Strict: true, Hint: "left out, ballots may name anything; without voting nothing is voted for", Doc: "What may be voted for; ballots that name something else are spoiled. Required by the ranked methods, at most 64 there. Default: whatever ballots name."},
		"collab.Voting.quorum":   {Section: "§5", Range: share, Doc: "Share of those asked who must have answered."},
		"collab.Voting.majority": {Section: "§5", Range: share, Doc: "The winner needs more than this share of the ballots that count; 0.5 is the absolute majority. Methods plurality and approval."},
		"collab.Voting.ties":     {Section: "§5", Enum: collab.Ties(), Default: collab.Seeded, Doc: "What becomes of options with equally many points: the seed draws one, or nobody wins."},

		"collab.Auction.price":   {Section: "§5", Enum: collab.Prices(), Default: collab.FirstPrice, Doc: "Who pays what."},
		"collab.Auction.amount":  {Section: "§5", Default: "amount", Doc: "Field of the answers that is the bid: a whole number, 0 to 2^53."},
		"collab.Auction.reserve": {Section: "§5", Range: &source.Range{Max: collab.MaxAmount}, Doc: "The least for which is sold."},
		"collab.Auction.ties":    {Section: "§5", Enum: collab.Ties(), Default: collab.Seeded, Doc: "What becomes of equal highest bids: the seed draws one, or nothing is sold."},

		"plot.Until.count": {Section: section, Range: above, Doc: "So many answers."},
		"plot.Until.share": {Section: section, Range: &source.Range{Max: 1, Open: true}, Default: 1.0, Doc: "This share of those asked has answered."},
		"plot.Until.after": {Section: section, Range: above, Doc: "Scene time since it was opened."},

		"plot.Schedule.id":    {Section: section, Required: true, Doc: "Name of the schedule, one in the script."},
		"plot.Schedule.every": {Section: section, Range: above, Doc: "Period, counted from the start of the scene."},
		"plot.Schedule.at":    {Section: section, Range: above, Doc: "Scene time since the start of the scene; once."},
		"plot.Schedule.cron":  {Section: section, Doc: "Six fields, seconds first, in scene time (UTC): `0 0 6 * * *` is six in the morning."},
		"plot.Schedule.in":    {Section: section, MaxItems: MaxStates, Strict: true, Hint: "left out, it happens in all states; a schedule that never happens is removed", Doc: "States in which it happens. Moments outside of them are passed over. Default: all."},
		"plot.Schedule.do":    {Section: section, Required: true, MaxItems: MaxActions, Doc: "Actions, at least one."},

		"plot.Ending.outcome": {Section: section, Required: true, Doc: "Name of the outcome."},
		"plot.Ending.winners": {Section: section, Doc: "A text, or a list of texts."},
		"plot.Ending.reason":  {Section: section, Doc: "A sentence."},
	}
}
