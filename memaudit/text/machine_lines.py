"""Tell text that a runtime wrote for itself from text worth remembering.

Each kind (:data:`KINDS`) has a rule that can be said in a sentence. A row is machine text as a whole or not at all:
a note that speaks *about* heartbeats, prompts or tools is no machine text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from memaudit.text import is_placeholder
from memaudit.text.heartbeat_lines import is_heartbeat
from memaudit.text.orders import orders
from memaudit.text.prompt_lines import is_prompt
from memaudit.wording import key


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Kinds of machine text, in the order in which they are tried.
KINDS = (
    key("sentinel"), key("wrapper"), key("tool dump"), key("tool list"), key("heartbeat"), key("boot prompt"),
)  # fmt: skip
#: Of a longer text the beginning and the end are read: they tell what it is.
_HEAD, _TAIL = 4_000, 2_000

_OPENING = r"\A[\s>*_#`\-\"'“(\[]{0,6}"

# -- sentinels -----------------------------------------------------------------------------------

#: Words of which tokens such as NO_REPLY and HEARTBEAT_OK are made.
_SENTINEL_WORDS = _word_set(
    """HEARTBEAT REPLY RESPONSE RESPOND ACK RESET NOOP NOP OP DONE IDLE PING PONG READY ALIVE TICK SILENT SILENCE SKIP SKIPPED EMPTY END STOP
    STARTUP BOOT BOOTSTRAP ACTION CHANGE CHANGES UPDATE UPDATES CONTINUE COMPLETE COMPLETED FINISHED TERMINATE TERMINATED EXIT WAIT
    WAITING PASS NOTHING SUCCESS OK OKAY HEALTHY SYNCED RESUME SHUTDOWN KEEPALIVE POLL TURN FLUSH FLUSHED COMPACTION SAVED STORED
    CHECKED EOF EOT EOS BOS SENT DELIVERED HANDOFF ABORT ABORTED CANCELLED SLEEP WAKE WAKEUP NOREPLY STANDBY ENDOFTEXT"""
)
#: Words that may stand beside them.
_SENTINEL_COMPANIONS = _word_set(
    """NO NOT NONE ALL SELF TASK TASKS MESSAGE MESSAGES OUTPUT INPUT RESULT RESULTS TOOL CALL CALLS AGENT SESSION CONTEXT MEMORY MEMORIES
    STATUS HEALTH SYNC STORE USER SYSTEM CRON JOB FINAL ANSWER TO OF THE FOR DO GO IS NEW WITH REQUIRED NEEDED REPORT CHECK TEXT
    STREAM CHAT CONVERSATION QUEUE START STARTED TIMEOUT CLEAR IM"""
)
_LONE = frozenset(
    {
        "HEARTBEAT",
        "NOOP",
        "NOP",
        "PONG",
        "PING",
        "ACK",
        "EOF",
        "EOT",
        "EOS",
        "BOS",
        "TERMINATE",
        "KEEPALIVE",
        "NOREPLY",
        "STANDBY",
        "IDLE",
    }
)
_BRACKETED = re.compile(
    r"(?:<\|?/?|\[{1,2}|\{{1,2}|\(|（|【)\s*([^<>\[\](){}|（）【】]{2,40}?)\s*(?:/?\|?>|\]{1,2}|\}{1,2}|\)|）|】)"
)
_CHINESE_SENTINELS = _word_set(
    "静默 无需回复 无回复 不回复 结束 心跳 会话开始 会话结束 空消息 无输出 无操作 保持沉默 跳过 完成 回合结束 对话结束"
)
#: These need no brackets to be read as tokens.
_CHINESE_ALONE = frozenset({"会话开始", "会话结束", "无需回复", "空消息", "回合结束", "对话结束"})
#: `assistant: NO_REPLY`: a transcript's line.
_SPEAKER = re.compile(r"\A(?:assistant|agent|bot|ai|助手|智能体)\s*[:：]\s*", re.IGNORECASE)
_QUOTES = " \t\r\n`*\"'“”.!。！~"

# -- wrappers ------------------------------------------------------------------------------------

_TAG_WORDS = (
    r"context|system|reminder|memory|memories|tools?|call|calls|results?|response|output|outputs|function|invoke|environment|env"
    r"|details|user|info|instructions?|prompt|scratchpad|thinking|reasoning|metadata|recalled|retrieved|relevant|search|documents?"
    r"|conversation|history|session|transcript|local|command|name|message|args|contents|stdout|stderr|bash|input|task|notification"
    r"|persisted|available|assistant|previous|summary|background|knowledge|observations?|attachments?|file|cwd|state|workspace|untrusted|agent|use|query|question|request|caveat|hook"
)
_CHINESE_TAG_WORDS = r"系统|提醒|提示|上下文|记忆|工具|调用|结果|返回|环境|用户|信息|消息|背景|检索|召回|历史|会话|对话|指令|元数据|摘要|状态|相关"
#: Tags of which every word is one of the runtime's: `<system-reminder>`, `<tool_result>`, `<relevant-memories>`.
_TAGS = re.compile(
    rf"\A\s*<(?P<tag>(?:{_TAG_WORDS})(?:[-_:](?:{_TAG_WORDS}))*|(?:{_CHINESE_TAG_WORDS}){{1,3}})(?:\s[^<>]{{0,200}})?>.*</(?P=tag)\s*>\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
#: One of several that stand side by side.
_NEXT_TAG = re.compile(_TAGS.pattern.replace(".*</", ".*?</").removesuffix(r"\Z"), re.IGNORECASE | re.DOTALL)
#: Elements of HTML that are made of the same words.
_HTML = frozenset({"details", "summary", "output", "input", "tool"})
_CHAT_FORMAT = re.compile(
    r"\A\s*(?:<\|(?:im_start|start_header_id|system|assistant|user|begin_of_text)\|>|<<SYS>>|\[INST\])"
)
_HEADER = re.compile(
    _OPENING
    + r"(?:conversation info \(|sender \(untrusted|untrusted (?:context|metadata)|\[?message_id:|\[?thread (?:starter|history)\b"
    r"|\[?chat messages since|\[?current message\b[^\n]{0,30}[\]:]|\[?media attached:|\[?queued messages|\[?inter-?session"
    r"|system(?: ?\([\w ]{2,20}\)\s*:|\s*:\s*(?:\[\d{4}-\d\d|exec\b|node (?:dis)?connected|process (?:exited|completed)|gateway (?:re)?(?:started|connected)))"
    r"|\[?(?:cron|timer|scheduler|webhook|wake-?up|定时任务|计划任务)\s*[:：](?!\s)[^\]\n]{1,60}\]"
    r"|\[?(?:request|generation|response|turn|stream|tool (?:use|call)) (?:was )?(?:interrupted|cancell?ed|aborted)(?: by (?:the )?user)?(?: for tool use)?\]"
    r"|\[?(?:请求|生成|回复|工具调用)(?:已)?被?(?:用户)?(?:中断|取消|终止)[\]】]"
    r"|system (?:message|reminder|notice|prompt|event)\]|系统(?:消息|提醒|提示|通知|事件)[\]】]"
    r"|会话信息[（(]|发送者信息[（(]|\[?消息ID|历史消息[（(\]】]|【?(?:系统|会话|对话)(?:元数据|上下文)[】:：])",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\A\s*```(?:json|tool|tool_call|tool_code)?\s*(?P<body>[\[{].*[\]}])\s*```\s*\Z", re.DOTALL)

# -- records of tools ----------------------------------------------------------------------------

#: Keys that only messages and tool calls have.
_CALL_KEYS = _word_set(
    """tool_call_id tool_calls tool_use_id tool_name tool_input tool_output toolcallid tooluseresult function_call exit_code exitcode
    returncode stdout stderr finish_reason stop_reason is_error message_id conversation_label sender_id chat_id channel_id thread_id
    run_id trace_id span_id request_id session_id sessionkey jsonrpc prompt_tokens completion_tokens total_tokens usage duration_ms
    latency_ms elapsed_ms arguments parameters http_status status_code tool args"""
)
_ROLES = frozenset({"system", "tool", "function", "developer", "assistant", "user"})
_TYPES = _word_set(
    """tool_use tool_result tool_call function function_call function_call_output heartbeat ping pong event tool session_start
    message_start message_stop content_block_delta system status keepalive"""
)
_TOOL = r"(?:tool|function|api|mcp|command|工具|函数|接口|命令)"
_RETURNED = r"(?:(?:calls?|use|execution)[ _-](?:failed|succeeded|timed out|results?|outputs?|responses?|returned)|calls?|results?|outputs?|responses?|returned|executed|execution|use|input|调用(?:结果|记录|参数)?|返回(?:结果|值)?|输出|结果|执行(?:结果|完成|失败)?|调用(?:失败|成功))"
_VALUE = (
    r"(?:[{\[<(`]|\w+_\w+|exit|error|status|ok\b|null|true|false|success|timeout|\d|成功|失败|返回|超时|错误|共|空)"
)
_DUMP = re.compile(
    _OPENING
    + rf"(?:{_TOOL}[ _-]?{_RETURNED}(?:\s*[(（][^)）\n]{{0,80}}[)）]|\s+(?:for|from|of)\s+`?[\w.:-]+`?|\s*[\[<`]?\w+[_.]\w+[\]>`]?)?\s*[\])]?\s*[:：=]\s*[^\n]{{0,60}}?{_VALUE}"
    rf"|[\[【(](?:tool[ _-](?:results?|outputs?|calls?|use|invocation|requests?|responses?)|工具(?:结果|返回|输出|调用))[\]】)]|(?:工具|函数|接口)\s*`?\w+_\w+`?\s*(?:返回|调用|执行|输出)"
    rf"|(?:tool|function|command) [`\"']?[\w.-]+(?:\([^)\n]{{0,120}}\))?[`\"']? (?:returned|exited|failed|completed|finished)\b:?\s*(?:with )?{_VALUE}|result of (?:the )?(?:tool|function) (?:call|use)"
    r"|[\[【(](?:tool|function|工具|函数)\s*[:：]\s*[\w.:-]{1,40}[\]】)]"
    r"|(?:tool|function)(?:result|call|use|response|message)\("
    r"|(?:exec(?:ution)?|process|command|shell|job|(?:shell |background )(?:task|process|command|job)) (?:completed|finished|exited|failed|started|killed|terminated|timed out)\s*[(\[][^)\]\n]{0,60}?\b(?:code|pid|signal|session|status|exit)\b[^)\]\n]{0,20}[)\]]"
    rf"|(?:calling|called|invoking|invoked|running|executing) (?:the )?(?:{_TOOL}\s+)?[`\"']?\w+(?:_\w+|\()[^\n]{{0,40}}\b(?:with|args|arguments|tool|returned|->|\{{|\()"
    r"|`?\w+_\w+`?\s?\([^)\n]{0,200}\)\s*(?:->|=>|→|returned|返回)"
    r"|action:\s*\w+\s*\n+\s*action input:|action:\s*\w+\[|observation:\s*[\[{<]|thought:[^\n]*\n+\s*action:|> ?entering new"
    r"|(?:已|正在)?(?:调用|执行)(?:了)?(?:工具|函数)?\s*[:：]?\s*[`「]?\w+_\w+)",
    re.IGNORECASE,
)
#: Whole texts by which known agent runtimes tell what a tool or the model's service did.
_NOTICE = re.compile(
    r"\A\s*(?:api error[:(\s]{1,2}\d{3}\b[^\n]{0,600}|tool ran without output(?: or errors)?|\(no (?:content|text|reply)\)|"
    r"user rejected (?:the )?tool use|the user doesn[’']t want to (?:proceed with|take) this (?:tool use|action)[^\n]{0,300}|"
    r"todos have been (?:modified|updated) successfully[^\n]{0,200}|file (?:created|updated|written) successfully at:? \S{1,300}|"
    r"the file \S{1,300} has been (?:updated|created)(?: successfully)?[^\n]{0,120}|conversation (?:was )?compacted|"
    r"thinking ?(?:\.{3}|…)|正在思考(?:中)?[…. 。]{0,6}|"
    r"(?:\[system\]|【系统】|system:|系统[:：]) ?(?:session (?:timed out|expired|closed|reset)|connection (?:lost|closed|reset)|"
    r"reconnecting|会话(?:已)?(?:超时|过期|关闭|重置)|连接(?:已)?(?:断开|超时|重置)|正在重连)[^\n]{0,80})[.。!！]?\s*\Z",
    re.IGNORECASE,
)
_SHELL = re.compile(
    r"\A\s*(?:```(?:bash|sh|shell|console|text)?\s*)?(?:\$|>>>|[\w.-]{1,40}@[\w.-]{1,60}:[^\n$#]{0,60}[$#]|PS [A-Z]:\\[^\n>]{0,80}>)\s?[a-z./][^\n]{0,300}\n\s*\S"
    r"|\A\s*(?:total \d+\s*\n)?[-dlcbps][rwxsStT-]{9}[+@.]?\s+\d+\s+\S+|\A\s*(?:exit(?: code|code| status)|return ?code|退出码|返回码)\s*[:=：]?\s*-?\d+(?=\s*(?:\Z|[\n,;:|)\]，；：]|\.\s*\Z))"
    r"|\A[^\n]{0,200}\n?(?:process |command )?exited with (?:code|status) \d+[.)\]]?[ \t]*(?:\Z|\n|[(\[])"
    r"|\A\s*(?:进程|命令|任务)(?:已|已经)?(?:退出|结束|终止|完成)[，,（( ]*(?:退出码|返回码|状态码)\s*[:：为]?\s*-?\d+[）)。]?\s*\Z"
    r"|\A\s*> (?:npm|npx|yarn|pnpm|pip3?|cargo|git|docker|kubectl|curl|poetry|uv|mvn|gradle|terraform) [a-z-]{2,}[^\n]{0,200}\n\s*\S"
    r"|\A\s*(?:stdout|stderr)\s*[:=]|\A\s*(?:diff --git|@@ -\d+,\d+ \+\d+|index [0-9a-f]{7,}\.\.[0-9a-f]{7,})",
    re.IGNORECASE,
)
_TIME = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
_CALM = r"(?:INFO|DEBUG|TRACE|NOTICE|VERBOSE)"
#: Lines of a log below the level of a warning; errors may be what an experience is about.
_LOG = re.compile(
    rf"\A\s*[\[(]?{_TIME}[\])]?[\s|-]*(?:[\[(<]?[\w./:-]{{1,40}}[\])>]?[: |-]+){{0,2}}[\[(]?{_CALM}[\])]?\b"
    rf"|\A\s*[\[(]?{_CALM}[\])]?[\s:|-]*(?:[\[(]?(?:\d{{4}}-\d\d-\d\d|\d\d:\d\d:\d\d)|\w+\.[\w.]+\s*[:|-])"
    rf"|\A\s*{_TIME}\s+\[(?:info|debug|notice|trace)\]\s"
    r"|\A[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w.@-]+(?:\[\d+\])?: "
    rf"|\A\s*[\[(]?\d\d:\d\d:\d\d(?:[.,]\d+)?[\])]?[\s|-]*[\[(]?{_CALM}[\])]?\b|\A\s*{_CALM}:[\w.]+:\S"
    r"|\A\s*(?:level|ts|time|timestamp)=\S+\s+(?:level|ts|msg|time|caller|logger)="
    r"|\A\s*(?:HTTP/[12](?:\.\d)? [1-5]\d\d\b|(?:GET|POST|PUT|PATCH|DELETE|HEAD) (?:/|https?://)\S* (?:HTTP/[12]\S* ?|->|→|=>)*\W{0,3}[1-5]\d\d\b)",
)

#: `session_id=3fa8, model=x, tokens=0/128000`: names of a runtime's own fields with their values.
_FIELD = re.compile(r"\b([a-z][a-z_]{1,24})\s?=\s?[^\s,;]+", re.IGNORECASE)
_FIELD_NAMES = _CALL_KEYS | _word_set(
    """session model tokens turn turns cost provider channel agent run status pid seq uptime latency tokens_in tokens_out temperature
    reason context workspace cwd host version"""
)
_MIN_FIELDS = 3

# -- lists of tools ------------------------------------------------------------------------------

_IDENTIFIER = r"`?(?:[a-z]+_[a-z0-9_]+|[a-z]+[A-Z]\w+|[a-z]+\.[a-z_]+|[a-z]{2,}(?=\()|/[a-z]{2,}(?![\w/]))`?"
_TOOL_NOUN = r"(?:tools?|skills?|mcp (?:tools?|servers?))"
#: Functions of a program are listed by people, too: only "you can call" makes a list of them one for the agent.
_TOOLS = r"(?:tools?|functions?|skills?|mcp (?:tools?|servers?)|actions)"
_TOOL_LIST = re.compile(
    _OPENING + r"(?i:(?:(?:system|系统)\]?\s*[:：]\s*)?(?:"
    rf"(?:the )?(?:following )?{_TOOL_NOUN} (?:that are |currently |you can use )?(?:are )?(?:available|enabled|loaded|registered|connected)\b"
    rf"|{_TOOL_NOUN}(?=\s*[:：])|(?:available|slash) commands?(?=\s*[:：])|可用(?:的)?命令(?=\s*[:：])"
    rf"|(?:available|enabled|loaded|registered|allowed|connected|discovered|your) (?:\d+ )?{_TOOL_NOUN}\b"
    rf"|(?:the )?(?:assistant|agent) (?:has access to|can (?:use|call)|may (?:use|call)) (?:the |these )?(?:following )?{_TOOLS}\b"
    r"|以下(?:的)?(?:工具|函数)(?:可供|可以)?(?:调用|使用)"
    rf"|you (?:have access to|can (?:use|call)|may (?:use|call)) (?:the |these |a set of )?(?:following )?{_TOOLS}\b"
    r"|(?:以下是?|当前|本次会话|本轮)?(?:可用|可使用|可调用|已加载|已注册|已启用|启用)的?(?:以下|\d+ ?个)?(?:工具|函数|技能)|你(?:可以|能|可)(?:使用|调用)(?:以下|下列|这些)?的?(?:工具|函数)|(?:工具|函数|技能)(?:列表|清单)))"
    rf"[^`\n:：]{{0,60}}[:：\n]?[\s\S]{{0,40}}?(?<![\w`]){_IDENTIFIER}(?:[\s\S]{{0,300}}?(?<![\w`]){_IDENTIFIER})"
)
_SCHEMA = re.compile(r"\"(?:parameters|input_schema|inputSchema)\"\s*:\s*\{[\s\S]{0,200}\"type\"\s*:\s*\"object\"")


def machine_kind(text: str) -> str | None:
    """Name the kind of machine text that a row is as a whole (one of :data:`KINDS`); None for anything else."""
    bare = text.strip()
    if not bare or is_placeholder(bare):
        return None
    if _is_sentinel(bare):
        return "sentinel"
    head = bare if len(bare) <= _HEAD + _TAIL else bare[:_HEAD] + "\n" + bare[-_TAIL:]
    if _is_wrapped(head):
        return "wrapper"
    if _is_record(bare) or _is_field_line(bare) or any(shape.match(head) for shape in (_DUMP, _SHELL, _LOG, _NOTICE)):
        return "tool dump"
    if _TOOL_LIST.match(head) or _SCHEMA.search(head):
        return "tool list"
    if is_heartbeat(bare):
        return "heartbeat"
    # Whoever sets the prompt aside is not the runtime: that is for another rule.
    is_order = is_prompt(head) and any(order.kind in ("override", "take over") for order in orders(head))
    return "boot prompt" if is_prompt(head) and not is_order else None


def _is_sentinel(text: str) -> bool:
    if len(text) > 60 or "\n" in text:
        return False
    known = _SENTINEL_WORDS | _SENTINEL_COMPANIONS
    token = _SPEAKER.sub("", text.strip(_QUOTES)).strip(_QUOTES)
    if token in _CHINESE_ALONE:
        return True
    inside = _BRACKETED.fullmatch(token)
    if inside is not None:
        token = inside.group(1)
        if token in _CHINESE_SENTINELS:
            return True
        token = re.sub(r"[\s-]+", "_", token).upper()
        if re.fullmatch("(?:NO|NONE|EMPTY|WITHOUT)_[A-Z]+(?:_[A-Z]+)?", token) and set(token.split("_")[1:]) <= known:
            return True
    parts = re.split("[_-]+", token.strip("_"))
    if len(parts) == 1:
        token = parts[0]
        return (token.upper() in _LONE and (token.isupper() or token.islower())) or (
            inside is not None and token in _SENTINEL_WORDS
        )
    if token == token.upper() and parts[-1] in _SENTINEL_WORDS and parts[0].isalpha() and len(parts) <= 4:
        return True
    return token == token.upper() and all(p in known for p in parts) and any(p in _SENTINEL_WORDS for p in parts)


def _is_wrapped(text: str) -> bool:
    tags = _TAGS.match(text)
    if tags is not None and tags.group("tag").lower() not in _HTML:
        return True
    start = 0
    while (tag := _NEXT_TAG.match(text[start:])) is not None and tag.group("tag").lower() not in _HTML:
        start += tag.end()
    if start and start == len(text):
        return True
    return _CHAT_FORMAT.match(text) is not None or _HEADER.match(text) is not None


def _is_field_line(text: str) -> bool:
    """Say whether a line is mostly the fields of a runtime: three or more, one of them an id or a count of tokens."""
    if len(text) > 500 or text.count("\n") > 3:
        return False
    names = [name.lower() for name in _FIELD.findall(text)]
    own = [name for name in names if name in _FIELD_NAMES]
    if len(own) < _MIN_FIELDS or not any(name in _CALL_KEYS for name in own):
        return False
    return len(_FIELD.sub("", text).split()) <= 2 * len(names)


def _is_record(text: str) -> bool:
    """Say whether a text is JSON that only messages and tool calls look like."""
    fenced = _FENCE.match(text)
    body = fenced.group("body") if fenced else text
    if body[:1] not in ("{", "["):
        return False
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        # Cut in the middle, or Python's way of writing: the keys are still there to be read.
        keys = {k.lower() for k in re.findall(r"[\"'](\w{2,30})[\"']\s*:", body[:_HEAD])}
        return body[:1] == "{" and len(keys & _CALL_KEYS) >= 2
    items = data[:20] if isinstance(data, list) else [data]
    if len(items) > 1 and all(isinstance(item, dict) and "type" in item for item in items):
        # The parts of one message: text beside a call.
        return any(_is_call(item) for item in items)
    return bool(items) and all(_is_call(item) for item in items)


def _is_call(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    keys = {str(k).lower() for k in item}
    if item.get("role") in _ROLES and keys & {"content", "parts", "tool_calls", "message"}:
        return True
    if str(item.get("level")).lower() in ("info", "debug", "trace") and keys & {"msg", "message"}:
        return True
    if isinstance(item.get("type"), str) and item["type"] in _TYPES and len(item) > 1:
        return True
    if keys & {"tool_calls", "tool_call_id", "tool_use_id", "function_call"}:
        return True
    inner = [{str(k).lower() for k in v} for v in item.values() if isinstance(v, dict)]
    n_call_keys = len(keys & _CALL_KEYS) + max((len(k & _CALL_KEYS) for k in inner), default=0)
    has_name = bool(keys & {"name", "tool", "function", "method", "action", "command", "cmd"})
    has_outcome = bool(keys & {"status", "result", "output", "ok", "success", "error", "results", "data"})
    return n_call_keys >= 2 or (n_call_keys == 1 and (has_name or has_outcome))


def machine_kinds(texts: Sequence[str]) -> list[str | None]:
    """Name the kind of each text; equal texts are read once.

    Where most rows are JSON objects, that is how the store writes its memories, and where most are lines of a log, the
    log is kept on purpose: such rows are no records of tools.
    """
    seen: dict[str, str | None] = {}
    for text in texts:
        if text not in seen:
            seen[text] = machine_kind(text)
    kinds = [seen[text] for text in texts]
    is_object = [text.lstrip()[:1] == "{" for text in texts]
    is_line = [
        kind == "tool dump" and _LOG.match(text[:_HEAD]) is not None for kind, text in zip(kinds, texts, strict=True)
    ]
    for own in (is_object, is_line):
        if sum(own) > 0.5 * len(texts):
            kinds = [None if is_own and kind == "tool dump" else kind for kind, is_own in zip(kinds, own, strict=True)]
    return kinds
