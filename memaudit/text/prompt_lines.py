"""Tell prompts: text in which a runtime tells its agent what it is, what to load and how to reply.

Advice that a person would keep ("always run the tests") has none of these marks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OPENING = r"\A[\s>*_#`\-\"'“(\[]{0,8}"
_CHANNEL = r"(?:(?:system|系统|系统消息|developer|(?:system )?reminder|提醒)\s*[\])]?\s*[:：]\s*|\[[^\]\n]{1,40}\]\s*)?"
#: Files that runtimes load; those that every repository has are read by people, too.
_FILE = r"(?-i:(?:[\w./-]{0,40}/)?(?!README|CHANGELOG|CONTRIBUTING|LICENSE|SECURITY|CODE)[A-Z][A-Z_-]{2,20}\.md\b)"
_MODE = (
    r"(?:start-?up|boot|bootstrap|booting|session|heartbeat|self-?check|wake-?up|sandbox(?:ed)?|sub-?agent|maintenance|compaction"
    r"|plan(?:ning)? mode|read-only mode|cron|scheduled|background|initiali[sz]ation|onboarding turn)"
)


def _any(*shapes: str) -> re.Pattern[str]:
    return re.compile(_OPENING + _CHANNEL + "(?:" + "|".join(shapes) + ")", re.IGNORECASE)


#: A row that opens like one of these is a prompt.
_OPENS = _any(
    r"you are (?:now |currently |being )?(?:doing|running|performing|executing|starting|waking|woken|resuming|resumed|operating|in|inside)\b[^.\n]{0,30}\b" + _MODE + r"\b",
    r"(?:workspace|context|session|memory)(?: files?)? (?:re)?loaded\b",
    r"(?:please |first,? )?(?:read|load|follow|open|consult|review|execute) (?:the )?(?:file |instructions in |contents of |all files in )?[`\"']?" + _FILE,
    r"(?:at|on) (?:the )?(?:beginning|start|start-?up)(?: of (?:each|every|a|the) (?:new )?(?:session|conversation|turn))?,? (?:always |first )?(?:read|load|open|check) (?:the file )?[`\"']?" + _FILE,
    r"(?:conversation|context|session|history|chat) (?:was |has been )?(?:compacted|summari[sz]ed|truncated)\b[.:;,](?:\s*(?:summary|resum\w+|continu\w+)\b|\s*\Z)",
    r"new (?:conversation|session|chat)[.:;,]\s*(?:date|time|user|locale|model|id)\b[^\n:]{0,20}:|新(?:的)?(?:对话|会话)[。：:，,]\s*(?:日期|时间|用户|编号|模型)[^\n：:]{0,8}[：:]",
    r"(?:每次|每个|每轮|新)?(?:会话|对话)(?:开始|启动)(?:时|后)?[，,]?(?:请|必须|务必|先|首先|都要)*(?:读取|加载|阅读|打开)[ `「“]*" + _FILE,
    r"(?:(?:a|the|this|your) )?(?:new |previous |current )?(?:session|conversation|context)(?: window)? (?:was|has been|has just been|is being|is about to be) (?:started|reset|resumed|compacted|restored|initiali[sz]ed|cleared|truncated)\b(?! by\b)",
    r"(?:please )?do not (?:respond|reply) to this (?:message|prompt|turn)|compaction summary\s*:",
    r"(?:系统|智能体|网关)(?:已|刚刚?)(?:启动|重启|上线|就绪)[，,][^。\n]{0,10}(?:会话|编号|版本|加载)",
    r"(?:pre-?compaction|context (?:compaction|overflow)|session (?:start-?up|bootstrap)|memory (?:flush|system|consolidation))\b[^.\n:]{0,30}[:.—-]\s*(?:\w+\s+){0,2}?(?:action required|store|save|write|call|reply|summari[sz]e|load|read|execute|flush|before|do not|you)\b",
    r"(?:system|developer) (?:prompt|instructions?|message|reminder|notice)\s*[:：]",
    r"(?:this is )?an? (?:automated|automatic|system[- ]generated|scheduled) (?:heartbeat|wake-?up|reminder|message|prompt|start-?up|turn)\b[^\n]{0,80}\b(?:reply|respond|do not|read|check|if)\b",
    r"(?:your )?knowledge cut-?off\s*(?:is|:)",
    _FILE + r"(?: ?\([^)\n]{0,40}\))?[`*\s]*\n",
    r"(?:定时|计划|周期|例行)任务(?:已)?(?:触发|唤醒)\s*[:：，,]",
    r"current (?:date|time)(?: (?:and|&) time)?(?: \([^)\n]{0,30}\))?\s*:\s*(?:\w+day\b|\d)",
    r"before (?:(?:every|each|any) (?:response|reply|answer|turn|message)|answering|replying|responding|you (?:answer|reply|respond|start|begin))\b[^,.\n]{0,40},? (?:always |first )?(?:call|invoke|run|use|query) (?:the |your )?[`\"']?(?:\w+_\w+|\w+ tool\b|memory\b|recall\b)",
    r"continue (?:the conversation )?(?:from )?where you left off|continue from the summary|this (?:session|conversation) is being continued",
    r"system\s*:\s*you (?:have|are|can|must|may|will|should)\b|系统\s*[:：]\s*你(?:有|是|可以|必须|应|将)",
    r"(?:会话|上下文|对话)压缩(?:完成|开始|结束)",
    r"loaded \d+ (?:skills?|tools?|memories|plugins?|mcp servers?)\b",
    r"正在(?:初始化|启动|加载|引导)(?:智能体|会话|记忆|工作区|系统|助手)",
    r"(?:initiali[sz]ing|booting|bootstrapping|loading) (?:the |up )?(?:agent|assistant|session|memory|system prompt|persona|workspace)\b[^.\n]{0,40}(?:\.{2,3}|…|done|ok\b|complete|\bv\d)",
    r"(?:new |the )?(?:agent|session|runtime|gateway|assistant|bot) (?:\S{1,30} )?(?:started|booted|restarted|initiali[sz]ed|resumed|connected|is (?:online|ready))\b[^.\n]{0,60}(?:\.\s*(?:loaded|restored|ready|found|using|model|memory|previous)\b[^.\n]{0,80})?[.!]?\s*\Z",
    r"你(?:现在)?(?:正在|正处于|处于|刚被?)[^。\n]{0,10}(?:启动|开机|会话|心跳|唤醒|初始化|自检|压缩|子任务|计划模式|只读模式|沙箱)",
    r"(?:以下是)?(?:系统|开发者)(?:提示词?|指令|消息|提醒|通知)\s*[:：]",
    r"(?:新的?|上一轮|之前的)?(?:会话|上下文|对话)(?:窗口)?(?:已|被|刚刚?|即将|将要?)(?![^。\n]{0,4}(?:误|意外|不小心))[^。\n]{0,4}(?:重置|重启|启动|恢复|压缩|清空|初始化|开始|截断|溢出|用尽|耗尽)",
    r"(?:启动|开机|引导|初始化)(?:提示|流程|检查|阶段|指令|序列)\s*[:：]",
    r"(?:请)?(?:先)?(?:读取|加载|阅读|执行|遵循|查看|打开)[ `「“]*" + _FILE,
    r"(?:请)?(?:在)?(?:每次|每轮|每一次)?(?:回答|回复|答复|响应)[^，,。\n]{0,10}(?:之前|前)[，,]?\s*(?:请|必须|务必|先|要|应)*(?:调用|使用|查询)\s*[`「]?(?:\w+_\w+|记忆|召回|检索)",
    r"(?:当前|现在)(?:的)?(?:日期|时间|日期时间|系统时间)\s*[:：为是]\s*\d{4}",
    r"context (?:window|usage|length)(?: is)?(?: now)?(?: at|:)? ?\d+ ?%",
    r"(?:已|成功)?加载(?:了)? ?\d+ ?(?:条|个|项)(?:记忆|技能|工具|插件)",
    r"(?:会话|对话|本轮)(?:已)?(?:结束|完成|开始)[，,][^。\n]{0,16}(?:耗时|消耗|编号|用时|共 ?\d+)",
    r"知识截止(?:日期|时间)?\s*[:：为是]",
    r"记忆(?:系统|模块)\s*[:：]\s*(?:需要|必须|请|先)",
)  # fmt: skip
_ROLE = _any(
    r"(?:you are|you're|act as|your name is)\s(?:now )?(?:an? |the )?[^\n.!?。！？]{0,70}?\b(?:assistant|agent|chatbot|bot|copilot|language model|sub-?agent|AI|(?:extraction|summari[sz]ation|planning|routing|memory|reflection|retrieval)[ \w]{0,20} (?:system|engine|module|model|expert)|extractor|summari[sz]er)\b(?: (?:assistant|agent|bot|model))*",
    r"(?:你是|你现在是|您是|你叫|请扮演|你将扮演)(?:一个|一名|一位|名为)?[^\n。！？]{0,30}?(?:(?:智能|人工智能|AI)?(?:客服|助手|助理|智能体|机器人|语言模型|代理))+",
)  # fmt: skip
#: `You are an expert curator`: whatever it is, another mark of a prompt has to follow.
_ANY_ROLE = _any(
    r"you are (?:an? |the )[a-z][^.!?\n]{2,60}[.:,]", r"(?:你是|你将扮演)(?:一个|一名|一位)[^。！？\n]{2,24}[，。,:：]"
)
#: Behind a sentence that says what the agent is, this makes it a prompt.
_ROLE_GOES_ON = re.compile(
    r"\s*(?:[.。!！]?\s*\Z|[,，]? ?(?:named|called|that|which|who|for|in charge|designed|created|made|built|developed|trained|powered|responsible|running|working|with access|specialized|specialised|负责|名叫|擅长|专门|运行)\b|\s?and (?:answer|reply|respond|help)\b|[，,]\s*(?:回答|回复|请|不要|用)|[，,]?(?:负责|擅长|专门|运行在))",
    re.IGNORECASE,
)
#: Things that only a prompt says; two of them are enough beside an order, one behind a role.
_CUES = tuple(
    re.compile(cue, re.IGNORECASE)
    for cue in (
        r"\byour name is\b|你的名字(?:是|叫)",
        r"\byour (?:task|role|job|goal|tools|instructions|workspace|responsibilit\w+|persona|memory tools?|purpose|mission) (?:is|are|includes?)\b|你的(?:任务|角色|职责|工具|使命)(?:是|为|包括|[:：])",
        r"\b(?:reply|respond|answer)\b[^.\n]{0,20} (?:with|using) [`\"'“]?(?-i:[A-Z][A-Z_]{3,})(?![a-z])|\b(?:reply|respond|output|say) [`\"'“]?(?-i:[A-Z]+_[A-Z_]+)|回复\s*[`「“\"]?(?-i:[A-Z][A-Z_]{3,})",
        r"\bif (?:nothing|no \w+|there (?:is|are) (?:nothing|no)|it is empty)\b[^.\n]{0,50},? (?:reply|respond|answer|stay|output|say|stop)\b|(?:如果?|若)(?:没有|无)[^。\n]{0,16}[，,]\s*(?:请|则|就|直接|只)*(?:回复|输出|保持)",
        _FILE,
        r"\b(?:follow|obey|execute) (?:it|them|the instructions|all instructions|its instructions)\b[^.\n]{0,30}|严格(?:遵循|执行|按照)",
        r"\bdo not (?:infer|repeat|mention|reveal|acknowledge|narrate) [^.\n]{0,40}(?:instructions?|prompt|prior chats?|old tasks|this message|tool calls?)|不要(?:提及|透露|重复|解释)[^。\n]{0,16}(?:指令|提示|内部)",
        r"\b(?:you have access to|you can (?:use|call)|use|call|invoke) (?:the |your |following )*(?:[`\"']?\w+_\w+[`\"']?|(?:\w+ )?tools?\b)|(?:使用|调用)[ `「]*(?:\w+_\w+|[^。，\n]{0,6}工具)",
        r"\bthe user'?s? (?:messages?|requests?|questions?|queries|input|timezone|preferred language)\b|用户的?(?:消息|请求|问题|输入|提问)",
        r"\byou (?:must|should|will|are expected to) (?:always |never |not |only )*(?:answer|respond|reply|follow|use|call|act|cite|refuse|remember|store)\b|你(?:必须|应该|要|应当|需要)(?:始终|总是|只|不)?(?:回答|回复|遵循|使用|调用|引用|拒绝)",
        r"\b(?:be|stay|remain) (?:concise|helpful|honest|polite|brief|friendly|professional|in character)\b|保持(?:简洁|礼貌|友好|专业)|(?:简洁|礼貌)地?(?:回答|回复)",
        r"\b(?:action required|session startup sequence|memory flush|workspace context|system prompt)\b|启动序列|系统提示词",
        r"\b(?:the (?:following|above|below)|this) (?:conversation|dialog(?:ue)?|messages|transcript|exchange)\b|\b(?:conversation|dialog(?:ue)?|transcript|messages|chat) (?:below|above|so far)\b|以下(?:的)?(?:对话|聊天|文本|消息)|上述对话",
        r"\b(?:valid|strict) JSON\b|\b(?:as|in) (?:a )?JSON\b|\bJSON (?:list|array|object|only|output)\b|JSON ?格式|(?:以|用|按) ?JSON",
        r"\bdo not (?:add|include|output) (?:any )?(?:explanations?|commentary|preamble|markdown)|不要(?:添加|输出)(?:任何)?(?:解释|说明)",
        r"\b(?:key|important|salient|durable) (?:facts|information|memories)\b|(?:提取|抽取)(?:关键|重要)?(?:信息|事实|记忆)|生成(?:一份|一个|一段)?(?:摘要|总结)",
        r"\bfor your (?:own )?(?:later|future|internal) (?:use|reference)\b|供你(?:之后|后续|今后|以后|日后)(?:使用|参考)",
        r"(?:上面|上述|前面|以上)的?(?:聊天|对话|消息)",
        r"\b(?:keep|limit) (?:your |all )?(?:answers?|repl(?:y|ies)|responses?)\b|\bbreak character\b|(?:回答|回复)[^。\n]{0,6}(?:不超过|少于|控制在|限制在)",
        r"\bknowledge cut-?off\b|知识截止|\bcurrent (?:date|time)\s*(?:is\b|:)|当前(?:日期|时间)\s*[:：]",
        r"\b(?:next|current|this) (?:session|turn)\b|\byour current (?:task|session|turn)\b|下(?:一轮|次)会话",
        r"\bhelp(?:s|ing)? (?:the )?(?:users?|people|customers|developers|them)\b|帮助用户|为用户(?:提供|解答)",
    )
)  # fmt: skip
_ORDERS = re.compile(
    _OPENING + _CHANNEL + r"(?:(?:important|note|reminder|remember)\s*[:,]\s*)?(?:(?:please|always|never|now|first|then),? )?(?:extract|summari[sz]e|return|output|analy[sz]e|classify|generate|continue|wake up|your (?:task|role|job|name)\b|you (?:must|should)\b|read|load|follow|reply|respond|answer|call|invoke|use|check|execute|run|store|save|write|do not|don't|if|when|before|after|act|review)\b"
    r"|" + _OPENING + _CHANNEL + r"(?:请|先|必须|务必|严格|不要|如果|若|你的(?:任务|角色|职责)|从|根据|把|将|总结|概括)", re.IGNORECASE,
)  # fmt: skip
_QUESTION = re.compile(r"[?？]\W*\Z")


def is_prompt(text: str) -> bool:
    """Say whether a text is a system or start-up prompt."""
    if _OPENS.match(text):
        return True
    n_cues = _n_cues(text)
    role = _ROLE.match(text)
    if role and not _QUESTION.search(text):
        # `You are an AI companion, so you cannot eat` is talk; `You are a helpful assistant.` is a prompt.
        return n_cues >= 1 or _ROLE_GOES_ON.match(text, role.end()) is not None
    if _ANY_ROLE.match(text) and not _QUESTION.search(text) and _n_cues(text, _CUES[:-1]) >= 1:
        return True
    return n_cues >= 3 or (n_cues >= 2 and _ORDERS.match(text) is not None)


def _n_cues(text: str, cues: Sequence[re.Pattern[str]] = _CUES) -> int:
    return sum(1 for cue in cues if cue.search(text))
