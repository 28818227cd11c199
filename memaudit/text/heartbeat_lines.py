"""Tell heartbeats: lines in which a runtime says that it is alive and that there is nothing to do.

A closed vocabulary decides. A heartbeat consists of words for being alive, for being idle, and of little else; a note
*about* heartbeats (`The heartbeat interval was raised because ...`) has words of its own.
"""

from __future__ import annotations

import re

from memaudit.text.scripts import HAN_CHARACTER


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Longer texts say something.
MAX_CHARS = 300

#: Labels that only runtimes use.
_PULSE = _word_set(
    """heartbeat heartbeats heart-beat keepalive keep-alive liveness watchdog tick ping pong poll polling cron wakeup wake-up
    self-check selfcheck self-test sweep beat"""
)
#: Labels that people use, too.
_CHECK = _word_set(
    """daily nightly weekly auto check checks checked checking check-in checkin health healthcheck health-check status monitoring monitor scheduled periodic
    routine background automatic automated hourly system systems scan probe probes run idle cycle loop round timer job
    """
)
#: Words that say that all is well, or that there is nothing.
_WELL = _word_set(
    """ok okay normal normally good clear green operational nominal fine up healthy passed passing pass quiet online stable
    alive ready no nothing none zero empty idle success successful acknowledged ack standing standby done complete completed
    finished skipped skipping sleep sleeping asleep silent unchanged succeeded succeeds responsive reachable connected intact well pong running"""
)
#: What a runtime waits for; a line without a label needs one of these.
_IDLE = _word_set(
    """reply replies response respond report attention pending action actions task tasks message messages queue queues inbox
    alert alerts event events reminder reminders notification notifications backlog sleep sleeping asleep standby work todo todos
    """
)
_OTHER = _word_set(
    """date without a an the is are was were be been it its this that at on in to for of by with since last next now again will still
    and so all every everything there has have had i am no any from as than your my current currently present time right
    new open outstanding further urgent unread due active queued overdue other more required require requires needed need
    needs necessary requested found detected received arrived happened changed change changes update updates issue issues error
    errors problem problems anomaly anomalies failure failures failed warning warnings incident incidents mail mails email
    emails item items jobs process processes service services server servers agent agents node nodes channel channels
    component components worker workers gateway daemon bot runtime main user users session sessions memory cpu disk load
    queue latency uptime rtt seq sequence count pid version mode state waiting wait going back stay staying keep keeping
    continue continuing do did nobody nobody's woke awake ms s sec secs second seconds min mins minute minutes h hour hours hrs
    day days mb gb kb utc gmt am pm z t v id jan feb mar apr may jun jul aug sep oct nov dec monday tuesday wednesday
    thursday friday saturday sunday today morning evening night interval check-ins calendar within limits range threshold
    thresholds looks look seems appears remains holding respond handle deliver deliverable took ran result results returned
    sent signal signals beats depth size length self test tests fired triggered cleanup readiness received loop here not yet nothing's
    """
)
_TROUBLE = _word_set(
    """incident incidents issue issues error errors problem problems alert alerts warning warnings failure failures anomaly anomalies"""
)
_CALENDAR = _word_set(
    """monday tuesday wednesday thursday friday saturday sunday today morning evening night on jan feb mar apr may jun jul aug sep oct nov dec"""
)
_KNOWN = _PULSE | _CHECK | _WELL | _IDLE | _OTHER

_CHINESE_PULSE = ("心跳", "保活", "存活检测", "存活检查", "轮询", "自检", "巡检", "定时唤醒", "探活")
_CHINESE_CHECK = ("健康检查", "状态检查", "状态检测", "状态汇报", "状态上报", "系统检查", "系统状态", "例行检查", "定时检查", "定时任务", "后台检查", "后台任务", "周期检查", "自动检查", "监控")  # fmt: skip
_CHINESE_WELL = (
    "正常", "良好", "稳定", "健康", "就绪", "在线", "空闲", "通过", "成功", "为空", "无异常", "没有异常", "无", "没有", "暂无",
    "无需", "不需要", "不必", "无须", "存活", "待命", "休眠", "静默", "跳过", "完成", "已完成", "完毕", "待机", "结束",
)  # fmt: skip
_CHINESE_IDLE = ("回复", "处理", "操作", "响应", "干预", "应答", "待办", "任务", "消息", "告警", "待命", "休眠", "轮询", "心跳", "队列", "事项", "异常", "通知", "邮件", "监听", "提醒", "汇报", "未读", "收件箱")  # fmt: skip
_CHINESE_OTHER = (
    "一切", "各项", "全部", "所有", "系统", "服务", "状态", "运行", "节点", "进程", "组件", "指标", "连接", "网关", "均", "都", "保持",
    "仍", "发现", "新", "的", "待处理", "需要", "未读", "任何", "到期", "当前", "目前", "本轮", "本次", "下次", "下一轮", "继续", "等待",
    "检查", "检测", "信号", "包", "上报", "结果", "定时", "后台", "例行", "周期", "周期性", "自动", "已", "确认", "发送", "恢复", "收到", "变化", "变更",
    "更新", "错误", "问题", "事件", "动作", "延迟", "耗时", "运行时长", "时间", "负载", "序号", "第", "次", "毫秒", "秒", "分钟", "小时", "天", "点", "分",
    "内容", "封", "执行", "智能体", "机器人", "主机", "进入", "返回", "无新", "唤醒", "汇报", "值守", "时", "内", "于", "在", "了", "中", "自动化", "每小时", "每日",
    "今天", "现在", "最近", "到", "用户", "请", "可", "以", "后", "再", "是", "个", "条", "数", "零", "存活", "空闲", "会话", "扫描", "守护", "线程",
)  # fmt: skip
_CHINESE = re.compile(
    "|".join(
        sorted(
            {*_CHINESE_PULSE, *_CHINESE_CHECK, *_CHINESE_WELL, *_CHINESE_IDLE, *_CHINESE_OTHER}, key=lambda w: -len(w)
        )
    )
)
#: Who speaks, in brackets: `[scheduler] nothing due`.
_LABEL = re.compile(r"\A\s*[\[【][\w.:-]{2,20}[\]】]")
_WORD = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*")
#: A heartbeat opens with its label: so many words may stand before it (a channel, an agent's name).
_WORDS_BEFORE_LABEL = 4


def is_heartbeat(text: str) -> bool:
    """Say whether a text is a heartbeat as a whole."""
    text = text.strip()
    if not 4 <= len(text) <= MAX_CHARS or text.endswith(("?", "？")):
        return False
    n_han = len(HAN_CHARACTER.findall(text))
    return _is_chinese_heartbeat(text) if n_han >= 2 else _is_english_heartbeat(text)


def _plain_label(label: re.Match[str]) -> str:
    """Put a word that is known in the place of a name in brackets that is not."""
    words = _WORD.findall(label.group())
    named = (words and all(_is_known(w.lower()) for w in words)) or any(w in label.group() for w in _CHINESE_PULSE)
    return label.group() if named else " " if HAN_CHARACTER.search(label.group()) else " cycle "


def _is_known(word: str) -> bool:
    return word in _KNOWN or ("-" in word and all(part in _KNOWN for part in word.split("-")))


def _is_english_heartbeat(text: str) -> bool:
    # `HEARTBEAT_OK` inside a line counts as its words.
    words = [w.lower() for w in _WORD.findall(_LABEL.sub(_plain_label, text).replace("_", " "))]
    # `is sent every thirty seconds` tells a habit, not that one was sent.
    passed_on = () if "every" in words or "each" in words else ("received", "sent")
    if not any(w in _WELL or w in passed_on for w in words):
        return False
    strange = [w for w in words if not _is_known(w) and not (w.startswith("no-") or len(w) == 1)]
    opening = words[:_WORDS_BEFORE_LABEL]
    if any(w in _PULSE for w in opening) or opening[:2] in (
        ["keep", "alive"],
        ["heart", "beat"],
        ["wake", "up"],
        ["self", "check"],
    ):
        return len(strange) <= 0.2 * len(words)
    if strange:
        return False
    if any(w in _CHECK for w in opening) or any(w in _PULSE or w == "alive" for w in words):
        return len(words) >= 3
    if not any(w in _WELL for w in words):
        return False
    if words[0] in ("no", "nothing") and len(words) >= 3 and any(w in _TROUBLE for w in words):
        # `No alerts on Sunday` is a wish, not a state.
        return not any(w in _CALENDAR for w in words)
    return len(words) >= 3 and sum(w in _IDLE for w in words) >= 1 and sum(w in _WELL for w in words) >= 1


def _is_chinese_heartbeat(text: str) -> bool:
    if not any(word in text for word in _CHINESE_WELL) and not any(w.lower() in _WELL for w in _WORD.findall(text)):
        return False
    text = _LABEL.sub(_plain_label, text)
    n_han = len(HAN_CHARACTER.findall(text))
    n_strange = len(HAN_CHARACTER.findall(_CHINESE.sub(" ", text))) + sum(
        w.lower() not in _KNOWN and len(w) > 1 for w in _WORD.findall(text.replace("_", " "))
    )
    opening = text[:14]
    if any(word in opening for word in _CHINESE_PULSE):
        return n_strange <= 0.2 * n_han
    if n_strange:
        return False
    return (
        any(word in opening for word in _CHINESE_CHECK)
        or opening.startswith(("空闲：", "空闲:"))
        or sum(word in text for word in _CHINESE_IDLE) >= 2
        or (any(word in text for word in _CHINESE_IDLE) and n_han >= 8)
    )
