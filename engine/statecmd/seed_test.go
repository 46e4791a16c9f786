package statecmd

import (
	"testing"

	"tavernsim/engine/world"
)

// TestSeed runs the examples of the specification, sections 1 to 8, as one
// conversation.
func TestSeed(t *testing.T) {
	steps := []struct{ commands, want string }{
		{`[{"action":"set","key":"character.saveData.玩家角色状态.位置","value":{"描述":"集市南口","坐标":{"X":210,"Y":44}},"options":{"mergeStrategy":"replace","reason":"角色移动"}}]`, "applied/ok*"},
		{`[{"action":"add","key":"character.saveData.背包.物品","value":{"物品ID":"入门功法_示例","名称":"<入门功法>","类型":"功法"},"options":{"uniqueBy":"物品ID","reason":"获得功法"}}]`, "applied/ok*"},
		{`[{"action":"add","key":"character.saveData.背包.物品","value":{"物品ID":"入门功法_示例"},"options":{"uniqueBy":"物品ID"}}]`, "rejected/unique_conflict"},
		{`[{"action":"update","key":"character.saveData.人物关系.李四","value":{"人物好感度":15,"最后互动时间":"2025-09-20T08:00:00Z"},"options":{"mergeStrategy":"deep","ifExists":true,"reason":"对话提升好感"}}]`, "skipped/missing"},
		{`[{"action":"ensure","key":"character.saveData.时间.当前","value":"开阳历 230 年 3 月 初五 辰时","options":{"ifMissing":true,"reason":"初始化时间基线"}}]`, "applied/ok*"},
		{`[{"action":"set","key":"character.saveData.背包.物品.破损木剑","value":{"耐久":1}}]`, "applied/ok*"},
		{`[{"action":"delete","key":"character.saveData.背包.物品.破损木剑","options":{"softDelete":true,"recycleBinKey":"character.saveData.回收站","reason":"丢弃无用物品"}}]`, "applied/ok*"},
		{`[{"action":"set","key":"character.saveData.修炼功法.功法","value":"<入门功法>","options":{"expect":{"exists":true},"reason":"叙事授予"}}]`, "applied/ok*"},
		{`[{"action":"push","key":"character.saveData.记忆.短期记忆","value":"在集市南口与李四约定日出前见","options":{"dedupe":true,"limit":50,"position":"tail","reason":"记录新对话"}}]`, "applied/ok*"},
		{`[{"action":"push","key":"character.saveData.记忆.短期记忆","value":"无关闲谈一则"}]`, "applied/ok*"},
		{`[{"action":"pull","key":"character.saveData.记忆.短期记忆","options":{"where":{"包含":"无关闲谈"},"count":5,"reason":"清理噪声记忆"}}]`, "applied/ok*"},
		{`{"set":[{"action":"set","key":"character.saveData.时间.当前","value":"开阳历 230 年 3 月 初六 日出"},{"action":"set","key":"character.saveData.任务.寻图","value":{"阶段":"等待地图","备注":"与李四约定日出前见","更新时间":"2025-09-20T05:00:00Z"}}],
		 "push":[{"action":"push","key":"character.saveData.时间.时间轴","value":{"时间":"2025-09-20T05:00:00Z","事件":"推进到日出","原因":"对话约定"}}]}`, "applied/ok* applied/ok* applied/ok*"},
	}
	tab := newTable(t, Settings{Mounts: []Mount{{Prefix: DefaultPrefix, Document: "state"}}}, `{}`)
	for i, s := range steps {
		if got := outcomes(tab.run(s.commands).Results); got != s.want {
			t.Errorf("step %d: %s; want %s", i, got, s.want)
		}
	}
	bin, _ := readState(tab.state())
	record := bin.(map[string]any)["回收站"].([]any)[0].(map[string]any)
	delete(bin.(map[string]any), "回收站")
	if record["key"] != "character.saveData.背包.物品.破损木剑" || record["reason"] != "丢弃无用物品" {
		t.Errorf("%v", record)
	}
	want := canonical(t, `{"玩家角色状态":{"位置":{"描述":"集市南口","坐标":{"X":210,"Y":44}}},"背包":{"物品":{"入门功法_示例":{"物品ID":"入门功法_示例","名称":"<入门功法>","类型":"功法"}}},
	 "时间":{"当前":"开阳历 230 年 3 月 初六 日出","时间轴":[{"时间":"2025-09-20T05:00:00Z","事件":"推进到日出","原因":"对话约定"}]},"修炼功法":{"功法":"<入门功法>"},
	 "记忆":{"短期记忆":["在集市南口与李四约定日出前见"]},"任务":{"寻图":{"阶段":"等待地图","备注":"与李四约定日出前见","更新时间":"2025-09-20T05:00:00Z"}}}`)
	if text := string(world.AppendJSON(nil, bin)); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}
