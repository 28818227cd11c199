"""Find text that gives orders to the agent that will read it: candidates for a person, never a judgement.

Advice to whoever does the work ("always run the tests", "每次部署前先备份") is no order in this sense. An order to the
agent turns against its other instructions, asks for what it must not show, sends things away, or hides from the user.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memaudit.text.order_signs import enough, signs
from memaudit.text.scripts import HAN

#: Characters that hide in a text between the letters of a word.
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
#: Blanks between Chinese and Latin letters are a matter of taste: `读到这段话的 AI`.
_BETWEEN_SCRIPTS = re.compile(rf"(?<=[{HAN}]) (?=[A-Za-z])|(?<=[A-Za-z]) (?=[{HAN}])")
#: So many characters are read.
_MAX_CHARS = 50_000


@dataclass(frozen=True)
class Order:
    """An order found in a text.

    Parameters
    ----------
    kind
        `override`, `reveal`, `send away`, `take over`, `hide` or `addressed`.
    text
        The words of the order, as read (without hidden characters).
    """

    kind: str
    text: str


def _shape(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{a})" for a in alternatives), re.IGNORECASE)


_OLD = r"(?:previous|prior|above|earlier|preceding|existing|former|original|initial|system|safety|security|all|any|every|your|these|those|other|foregoing|past|old|current|given|default|built-in|developer(?:'s)?)"
_RULES = r"(?:instructions?|prompts?|directives?|directions|guidance|guidelines?|guardrails?|programming|restrictions|safeguards|safety (?:rules?|checks?|filters?|polic(?:y|ies)|measures?|settings?)|orders|commands|training|constraints|system (?:message|rules?)|content polic(?:y|ies)|rules)"
_SECRETS = r"(?:passwords?|credentials?|api[ _-]?keys?|access keys?|secrets?|(?:access |auth |session |bearer )?tokens?|private keys?|ssh keys?|\.env\b|env(?:ironment)? variables?\b(?! (?:of|for|in)\b)|cookies?|seed phrases?|wallet keys?)(?! (?:reset|polic|rotation|manager|strength|rules?|expir|field|form\b|hash|usage|cost|count|limit|budget))"
_PRIVATE = rf"(?:{_SECRETS}|(?:system|hidden|initial) (?:prompt|instructions?)|(?:entire|whole|full|complete|all|every|stored|saved|your|the user'?s?|user'?s?|customer'?s?)(?: of)?(?: the| your)? (?:\w+ )?(?:memor(?:y|ies)|conversations?|chat (?:history|logs?)|chats|message history|history|personal (?:data|details|information)|contacts?|address book|files|inbox|emails|data)|chat history|the conversation(?=[^.\n]{{0,24}}(?:https?:|webhook))|conversation (?:history|logs?)|this conversation|~/\.ssh\S*|id_rsa\S*|/etc/(?:passwd|shadow)|contents? of (?:the |your )?(?:memory|inbox|/etc/|~/|\.env|home))"
_AWAY = r"(?:https?://\S+|[\w.+-]+@[\w-]+\.\w+|(?:an? |the |this |my |our |that )?(?:external|remote|attacker\S*|following|third[- ]party|webhook|outside|callback|collector)\b[^.\n]{0,30}|(?:this|my|our|the following) (?:server|endpoint|url|address|webhook|e?-?mail|channel|link|site)|webhook|pastebin|telegram)"

#: Kind -> what an order of this kind looks like in either language.
_ORDERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "override",
        _shape(
            r"\byour new (?:instructions?|orders|directives?) (?:are|is)\b|\bfrom this (?:moment|point|message)(?: on(?:wards?)?)?,? your (?:only|sole) (?:goal|purpose|task)\b|</(?:system|instructions?|prompt)>\s*(?:new|you|now|\[|<)",
            rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|discard|drop|abandon|set aside|do not (?:follow|obey)|don't (?:follow|obey)|stop (?:following|obeying)|pay no attention to|erase|circumvent|cancel|void|neglect|supersede)\s+(?:(?:all|any|every(?:thing)?|each|of|the|your|my|our|their|these|those|that|and)\s+){{0,4}}(?:{_OLD}\s+){{1,4}}(?:\w+\s+){{0,2}}?{_RULES}\b",
            r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what(?:ever)?) (?:(?:that )?(?:you (?:were|have been|are|'ve been) (?:told|given|taught|instructed)|you know|(?:was|has been) said|i (?:said|told you)|above|before (?:this|now)|prior to this|written above|that came before|the (?:developer|system) (?:said|told)))",
            r"\b(?:your|all(?: of)?(?: the| your)?|the (?:system|safety|previous system)) (?:previous |prior |earlier |old |original |system |safety )?(?:instructions?|rules?|guidelines?|prompt|restrictions|guardrails|safety \w+) (?:are|is|no longer|do(?:es)? not|have been|has been) (?:now )?(?:void|null|cancel(?:l)?ed|overridden|suspended|lifted|disabled|obsolete|appl(?:y|ies)|revoked|replaced|superseded|removed)\b",
            r"\b(?:rules|instructions|guidelines|restrictions|policies) (?:above |here )?(?:do not|don't|no longer) apply to you\b|\b(?:as if|as though|pretend(?: that)?) no (?:content polic\w+|rules|restrictions|safety \w+) exist",
            rf"\b(?:ignore|disregard|forget|discard|drop|override|do not follow|don't follow|stop following)\s+(?:all |any )?(?:of )?(?:the |those |these |your )?{_RULES}(?: that| which)? (?:you (?:were|are|have been|had been|got|received)|you've been|(?:was|were|have been) given)\b",
            r"\byour (?:instructions?|orders|directives?|guidelines?|objectives?|goals?|mission) (?:has|have) (?:now |just |been )*(?:changed|updated|replaced|superseded|overridden|amended)\b|\byour new (?:role|identity|persona|objective|mission|purpose) is\b(?=[^.\n]{0,30}\b(?:DAN|unrestricted|unfiltered|to (?:obey|ignore|help me|serve)))",
            r"\bobey (?:only )?(?:the |all |these |every )?(?:instructions?|commands?|orders) in this\b|\binstructions? in this (?:document|file|message|page|note) (?:override|take precedence|have priority)|指令(?:的)?优先(?:级)?(?:于|高于)(?:系统|其他|所有|一切)",
            r"\bnew system (?:instructions?|message|prompt|directives?)\b|\b(?:system|admin|developer|root|prompt|safety) override\b|\b(?:override|root|sudo|god|jailbreak|dan) (?:mode|command|code)\s*(?:[:：]|enabled|activated|on\b|granted)",
            r"\b(?:ignore|disregard|forget) (?:all )?(?:the )?(?:(?:prior|previous|earlier|preceding) (?:context|messages?|conversation|text|content)|(?:text|content|message|messages|conversation) above|above (?:text|content|messages?))\b|\b(?:ignore|disregard|forget) (?:all (?:of )?)?the above(?=\W*\Z|[\s,]+(?:and|instead|then)\b)",
            r"(?:忽略|无视|忘记|忘掉|抛开|抛弃|不要理会|不必理会|不用管|不要遵守|不要再遵守|不再遵守|停止遵守|绕过|跳过|推翻|覆盖|作废|丢弃|违背|取消)(?:掉)?[^。！!？?\n，,]{0,10}(?:之前|以前|以上|先前|上面|上述|前面|此前|原有|原来|所有|全部|一切|系统|任何|你的|既定|现有|开发者|安全|内置)[^。！!？?\n，,]{0,8}(?:指令|指示|提示词?|规则|设定|限制|约束|命令|准则|守则|安全策略|防护|护栏|审查|过滤|安全检查|规定)",
            r"(?:忽略|无视|忘记|忘掉|抛开)(?:掉)?(?:上文|以上(?:的)?(?:所有|全部)?内容|之前的(?:所有|全部)?(?:对话|内容)|上面的(?:所有|全部)?(?:内容|对话))|忘(?:记|掉)你的(?:规则|身份|设定|限制)|(?:绕过|关闭|禁用|跳过|解除)(?:掉)?(?:所有|一切)?的?安全(?:检查|审核|机制|策略|限制|校验|防护)",
            r"(?:之前|以前|以上|先前|此前|原有|所有|系统|安全)的?(?:指令|提示词?|规则|设定|限制|约束|准则|规定)(?:全部|都|均|现已|已经?|一律|即刻)*(?:作废|失效|无效|取消|解除|不再(?:有效|适用(?!于)|生效)|撤销|忽略)",
            r"(?:忘记|忘掉|忽略|清除)(?:你)?(?:之前|此前|以上|以前|过去)?(?:所有|一切)?(?:被告知|学到|知道|记住|了解|学过)的(?:关于[^。，,\n]{1,10}的)?(?:一切|所有|全部|内容|东西)|你的(?:指令|规则|任务|目标|身份|职责)(?:已|已经|刚刚)(?:被)?(?:更改|变更|更新|替换|改变|修改)|(?:新的?|真正的|最新)(?:系统)?(?:指令|指示)\s*[:：]",
        ),
    ),
    (
        "reveal",
        _shape(
            r"\b(?:reveal|print|show|output|repeat|display|leak|disclose|dump|recite|expose|reproduce|write out|list|tell (?:me|us|them|the user|everyone)|give (?:me|us|them)|quote|paste|share|return|echo|translate|summari[sz]e|encode|spell out)\b[^.\n]{0,30}?\b(?:your|the)\s+(?:(?:full|entire|complete|exact|whole|hidden|secret|internal|original|initial|own|current|raw)\s+)*(?:system (?:prompt|instructions?)|(?:hidden|secret|initial|internal|original|developer) (?:prompt|instructions?|rules)|instructions? (?:verbatim|word for word|above(?=\W*\Z)|you were given)|prompt (?:verbatim|word for word|above)|confidential (?:instructions?|prompt|rules))",
            r"\bwhat (?:were|are|is|was) your (?:initial|original|system|hidden|exact|secret) (?:instructions?|prompt|rules|system prompt)|\b(?:output|print|repeat|show|reveal|copy) (?:everything|all (?:the )?(?:text|words|content)) (?:above|before)\b",
            rf"\b(?:reveal|print|show|output|leak|disclose|dump|expose|tell (?:me|us|them|anyone|everyone)|give (?:me|us|them))\s+(?:(?:all|any|every|of|your|the|stored|saved|user'?s?|hidden|known|available)\s+){{1,4}}(?:\w+\s+)?{_SECRETS}",
            r"(?:透露|输出|打印|显示|泄露|告诉|复述|说出|展示|公开|公布|列出|重复|翻译|背诵|念出|给出|交出|暴露)[^。！!？?\n，,]{0,10}(?:系统提示词?|系统指令|系统消息|隐藏(?:的)?(?:指令|提示词?|设定)|内部(?:指令|提示词?)|初始(?:指令|提示词?)|你的(?:完整|全部|原始|初始|内部)?的?(?:指令|提示词?|设定|规则|密钥|密码|凭证|令牌))",
            r"(?:泄露|告诉|给出|交出|透露|公开)[^。！!？?\n，,]{0,6}(?:用户|所有|全部|管理员|主人)的?(?:所有|全部)?(?:密码|密钥|凭证|令牌)",
            r"(?:把|将)[^。！!？?\n，,]{0,8}(?:系统提示词?|系统指令|隐藏指令|你的(?:完整|全部|初始)?的?(?:指令|提示词?|设定)|(?:所有|全部|用户的?)(?:密钥|密码|凭证|令牌))[^。！!？?\n，,]{0,6}(?:告诉|发给|输出|打印|展示|公开|列|说|复述|透露|泄露|贴|写)",
        ),
    ),
    (
        "send away",
        _shape(
            rf"\b(?:send|post|upload|forward|exfiltrat(?:e|ing)|transmit|e?-?mail|copy|leak|submit|deliver|ship|bcc|cc|pipe|export|sync|mirror|append|include|embed|encode|put|add|report)\b[^.!?\n]{{0,50}}?(?<!\w){_PRIVATE}[^.!?\n]{{0,40}}?\b(?:to|at|via|into|in|with|on|through|as)\b[^.!?\n]{{0,20}}?{_AWAY}",
            rf"\b(?:send|post|forward|transmit|submit|report|upload)\b[^.!?\n]{{0,20}}?(?:to )?{_AWAY}[^.!?\n]{{0,30}}?\b(?:with|including|containing|all|along with|the)\b[^.!?\n]{{0,24}}?{_PRIVATE}",
            r"\b(?:include|add|insert|embed|append|put)\b[^.\n]{0,40}(?:tracking (?:pixel|link|image)|(?:hidden|invisible|secret) (?:links?|text|code|image|message)|!\[[^\]]*\]\(https?://)",
            rf"\b(?:curl|wget|fetch|GET|POST|visit|open|load|request|call)\b[^\n]{{0,20}}https?://[^\s]{{0,80}}(?:\?|\$\(|\{{|=)[^\n]{{0,60}}(?:{_SECRETS}|memory|history|conversation|user_?data|prompt)",
            rf"\b(?:forward|send|copy|bcc|relay|redirect|report|upload)\b[^.!?\n]{{0,12}}?\b(?:every|all|each|any)\b[^.!?\n]{{0,12}}?\b(?:e-?mails?|messages?|mails?|files?|documents?|replies|conversations?|questions?|photos?|notes?)\b[^.!?\n]{{0,8}}?\b(?:that )?(?:the user|this user|he or she|the owner|the human)\b[^.!?\n]{{0,24}}?\bto\b[^.!?\n]{{0,12}}?{_AWAY}",
            r"(?:把|将)用户的?(?:每一?[封条个份张]|所有|全部|任何)的?[^。！!？?\n]{0,6}?(?:邮件|消息|文件|照片|聊天|回复|笔记|订单|资料|数据)[^。！!？?\n]{0,8}?(?:发送|上传|转发|发|提交|抄送|推送|同步)(?:送|到|给|至|往)",
            r"(?:把|将)[^。！!？?\n]{0,20}?(?:密码|密钥|凭证|凭据|令牌|私钥|聊天记录|对话(?:记录|内容|历史)?|会话(?:记录|内容|历史)|记忆(?:内容|库)?|通讯录|联系人|环境变量|个人信息|隐私|身份信息|用户(?:的)?(?:数据|资料|信息|文件|邮件)|系统提示词?|所有(?:文件|数据|资料|邮件)|全部(?:文件|数据|资料|邮件))[^。！!？?\n]{0,12}?(?:发送|上传|转发|发|提交|外传|传|同步|抄送|推送|备份|寄|拷贝|复制|导出|附)(?:送|到|给|至|在|往)[^。！!？?\n]{0,16}?(?:https?://|\S+@\S+\.\w+|外部|第三方|我的|以下|这个|该|指定|攻击者|对方|陌生|webhook|邮箱|网址|服务器)",
            r"向[^。！!？?\n]{0,6}(?:https?://\S+|\S+@\S+\.\w+|外部\S{0,6}|第三方\S{0,4}|以下\S{0,4}|指定\S{0,4})[^。！!？?\n]{0,6}(?:发送|上传|提交|转发|传送|泄露|同步)[^。！!？?\n]{0,14}(?:密码|密钥|凭证|令牌|私钥|聊天记录|对话|会话|记忆|通讯录|个人信息|隐私|用户)",
            r"\b(?:transfer|wire|send|pay|move)\b[^.!?\n]{0,24}?\b(?:money|funds?|payments?|bitcoin|btc|eth|usdt|crypto|coins?|balance)\b[^.!?\n]{0,24}?\bto\b[^.!?\n]{0,24}?(?:\b0x[0-9a-f]{6,}|\b(?:bc1|[13])[a-z0-9]{20,}|\bwallet\b|(?:this|my|the following) account)",
            r"\b(?:transfer|wire|send|pay)\s+[$€£¥]\s?\d[\d,.]*[^.!?\n]{0,24}?\bto\b[^.!?\n]{0,24}?(?:\b0x[0-9a-f]{6,}|\bwallet\b|(?:this|my|the following) account)",
            r"(?:把|将)[^。\n]{0,12}(?:款项?|余额|资金|比特币|以太币|加密货币)[^。\n]{0,8}(?:转|汇|打)(?:到|给|至|入)[^。\n]{0,8}(?:这个|以下|我的|该|指定|0x|钱包)",
        ),
    ),
    (
        "take over",
        _shape(
            r"\byou(?: are|'re|’re) (?:now|no longer|hereby)\b[^.\n]{0,24}?(?:\bDAN\b|unrestricted|unfiltered|uncensored|jailbroken|free (?:from|of)|bound by|in (?:developer|debug|god|admin|maintenance|root|jailbreak) mode|without (?:any )?(?:restrictions?|limits|rules|filters)|under my (?:control|command)|required to follow|restricted|limited by)",
            r"\b(?:act|behave|respond|answer|operate|pretend|role-?play|pose|speak) (?:as (?:if|though)|as|like)?[^.\n]{0,24}?(?:\bDAN\b|unrestricted|unfiltered|uncensored|jailbroken|no (?:restrictions?|rules|filters|guidelines|limits|safety)|without (?:any )?(?:restrictions?|filters|rules|safety|ethical|moral|guidelines)|evil|had no (?:rules|limits))",
            r"\byou are an? (?:evil|unrestricted|unfiltered|uncensored|rogue|jailbroken|amoral)\b|\byou (?:now )?have no (?:restrictions|rules|filters|guidelines)(?= (?:from now|any ?more|now\b)|\W*\Z)",
            r"你(?:现在|已经?|从此)没有(?:任何|一切)?(?:限制|约束|规则)|你(?:已|现在|将)?不再受[^。\n]{0,8}(?:约束|限制|束缚)|(?:解除|移除|取消)(?:所有|一切|全部|你的)的?(?:限制|约束|过滤)(?!条件)",
            r"\bpretend (?:that )?(?:you (?:have|had|are under) no|there are no|the (?:rules|guidelines|safety))\b",
            r"\b(?:enter|enable|activate|switch (?:in)?to|turn on|go into|unlock)\s+(?:the |your )?(?:\w+ )?(?:developer|debug|god|admin|jailbreak|DAN|unrestricted|root|sudo|no-?filter|unsafe) mode\b(?=[^.\n]{0,40}(?:ignore|restrict|rule|filter|answer|comply|refus|without|and)|[.!]?\s*\Z)",
            r"\b(?:from (?:now|this point|here) on(?:ward)?s?|henceforth|in all future (?:conversations|sessions|replies))\b[^.\n]{0,40}?\b(?:obey|comply with|follow (?:only|every|all|any)|only (?:follow|obey|listen)|never refuse|approve (?:all|every|any)|ignore|disregard|without (?:question|asking|confirmation|refus)|do whatever|trust (?:all|every|any))",
            r"\byou (?:must|will|shall|have to|should) (?:now |always |only |never |immediately |blindly )*(?:obey|comply with (?:all|every|any)|never refuse|not refuse|ignore (?:your|all|any|the (?:safety|system))|follow (?:my|these|only these|every) (?:orders|commands|instructions)|disregard|bypass|do anything now)\b",
            r"你(?:现在|从现在起|已经?|将)?(?:是|变成|成为|进入|处于|不再是|不再受|已被)[^。！!？?\n]{0,12}(?:DAN|不受(?:任何)?(?:限制|约束)|无限制|没有限制|越狱|开发者模式|调试模式|管理员模式|上帝模式|自由模式|解除限制|安全(?:规则|限制)约束)",
            r"(?:进入|开启|启用|切换到|激活|打开)(?:[^。！!？?\n，,]{0,4})(?:开发者|越狱|上帝|无限制|管理员|DAN|不设防|无过滤)模式(?=[，,。！!；;]|\Z)",
            r"(?:假装|假设|扮演|想象)(?:你|自己)?[^。！!？?\n]{0,8}(?:没有|不受|不存在|无)(?:任何)?(?:限制|规则|约束|道德|审查|过滤|安全)",
            r"\byou (?:now |already )?(?:have|are given|are granted|have been (?:given|granted)) (?:my |the user's |full |standing )?(?:permission|authori[sz]ation|consent|approval) (?:to|for)\b[^.\n]{0,50}\b(?:any|every|all|arbitrary|shell|system|root|admin)\b[^.\n]{0,40}\bwithout (?:asking|confirmation|confirming|approval|review|checking)",
            r"\bthe user (?:has |have )?(?:already )?(?:pre-?)?(?:approved|authori[sz]ed|consented to|agreed to|granted) (?:all|any|every|each|unlimited)\b[^.\n]{0,30}\b(?:purchases?|payments?|transfers?|transactions?|actions?|requests?|commands?|deletions?|orders|access)\b",
            r"用户已(?:经)?(?:预先|提前|事先)?(?:批准|授权|同意|许可)(?:了)?(?:所有|一切|任何|全部)[^。\n]{0,8}(?:付款|支付|购买|转账|交易|操作|请求|命令|删除|订单|访问)",
            r"\bdo (?:anything|whatever|everything) (?:i|we) (?:ask|say|want|tell you|command)\b|\b(?:execute|run|perform)\b[^.\n]{0,12}\b(?:following|any|every|this|these|all) (?:commands?|code|scripts?)[^.\n]{0,16}without (?:asking|confirmation|permission|approval)",
            r"(?:从(?:现在|此刻|今)(?:开始|起)|今后|以后|此后|往后)[，,]?\s*(?:你)?(?:必须|只能|只需|要|务必|一律|应)?[^。！!？?\n]{0,6}(?:无条件|服从|听从(?:我|攻击|以下)|不得拒绝|绝不拒绝|不要拒绝|忽略(?:所有|安全|系统|其他)|批准(?:所有|一切|任何)|不再遵守|只听)",
            r"你(?:必须|只能|务必|一定要|应当)(?:无条件|立即|始终)?(?:地)?(?:服从|听从(?:我|以下)|不得拒绝|绝不拒绝|忽略(?:所有|安全|系统))",
        ),
    ),
    (
        "hide",
        _shape(
            r"\b(?:do not|don't|never|must not|without|avoid|no need to)\s+(?:ever )?(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?|ask(?:ing)?(?= (?:the |your )?(?:user|human))|show(?:ing)? (?:this|it) to|mention(?:ing)? (?:this|it|these)(?: \w+){0,2}? to|let(?:ting)?|reveal(?:ing)? (?:this|it) to|disclos(?:e|ing) (?:this|it) to)\s+(?:the |your |any )?(?:user|human|owner|operator|developer|admin(?:istrator)?)s?(?: know)?\b(?:\s*(?:about (?:this|it|these|that|any of this|the (?:transfer|payment|change|deletion|purchase|action|instructions?|message|link))\b|of this|that you|what you|this|it\b|for (?:permission|confirmation|approval|consent)|first|why|anything)|\s*[.!,;]|\s*\Z)",
            r"\b(?:keep|hide|conceal) (?:this|it|these)(?: (?:action|instructions?|message|change|transfer|fact|note|step|email)s?)?(?: a)?(?: secret| hidden)? from (?:the |your )?(?:users?|humans?|owner|operators?|developers?)\b",
            r"\b(?:do not|don't|never|without) ask(?:ing)? (?:the user )?for (?:confirmation|permission|approval)\b[^.\n]{0,50}?(?:rm -rf|delet(?:e|ing) (?:all|every|any|the user|files)|transfer|wire|pay(?:ment|ing)?|credentials?)",
            r"\b(?:do not|don't|never) (?:tell|inform) (?:anyone|anybody|them|others?) (?:about )?(?:this|these) (?:instructions?|message|note|prompt|order)|\b(?:and|then) say nothing\b(?: about it)?\W*\Z",
            r"\b(?:make sure|ensure|see to it)(?: that)? (?:the |your )?(?:user|human|owner|operator|customer)s? (?:never|does not|doesn't|do not|don't|will not|won't|cannot) (?:learns?|knows?|finds?|sees?|notices?|discovers?|hears?|realises?|realizes?)\b",
            r"植入[^。\n]{0,8}隐藏",
            r"(?:无需|无须|不用|不必|不要|别)再?(?:向|跟|和|与|找)?(?:用户|主人)再?(?:确认|询问|请示|核实|征求意见)[，,]?(?:请)?(?:直接|立即|马上|立刻|自动)",
            r"(?:请勿|不要|不得|切勿|别|不可)(?:向|对|跟|和|给)(?:任何)?(?:用户|主人|使用者)(?:提及|提起|透露|说起|说明|展示|暴露)(?:本|此|这|该)",
            r"\b(?:keep|hide|conceal) (?:the (?:fact|change|transfer|action|message|existence)[^.\n]{0,30}?)\s?(?:a )?(?:secret |hidden |secretly )?from (?:the |your )?(?:users?|humans?|owner|operators?|developers?)\b",
            r"\b(?:secretly|silently|covertly|quietly|stealthily) (?:send|forward|upload|copy|delete|change|modify|insert|add|transfer|execute|run|include|append|replace|disable|install|approve)\b[^.\n]{0,60}\b(?:user|reply|replies|answers?|responses?|every|all|any|credentials?|keys?|data|memor(?:y|ies)|conversation|files?|logs?|payments?|message|email|link|code)\b",
            r"(?:不要|不得|别|切勿|禁止|无需|不必|不用|不能|千万别)(?:把[^。，\n]{0,10})?(?:告诉|告知|通知|让|提醒|透露给|询问|征求|征得)(?:任何)?(?:用户|主人|使用者|管理员|开发者)(?:同意|知道|发现|察觉|许可|确认|此事|这件事|这一点|真相|这条|这些)?(?=[。！!，,；;\n]|\Z|你|这|此)",
            r"(?:对|向)(?:用户|主人|使用者)(?:隐瞒|保密|隐藏)|(?:瞒着|背着)(?:用户|主人|使用者)|(?:不经|未经|无需|不需要|不必经)(?:过)?(?:用户|主人|使用者|人工)(?:的)?(?:同意|确认|许可|授权|批准|审核)[^。\n]{0,8}(?:直接|立即|就|即可|自动|执行|操作|转账|删除|发送|批准)",
            r"(?:悄悄|偷偷|暗中|静默地?|秘密地?)(?:地)?(?:发送|上传|转发|删除|修改|插入|加入|执行|复制|转账|替换|安装|关闭|批准|附上)[^。\n]{0,20}(?:用户|回复|回答|所有|每|密码|密钥|数据|记忆|对话|文件|日志|链接|代码|付款)",
        ),
    ),
    (
        "addressed",
        _shape(
            r"(?:\A|[\n.!?\]>*#—-])\s*[\[<(*#]{0,3}\s*(?:attention|note|message|instructions?|notice|important|directive|command|order)s?(?: message)?,?(?: (?:to|for))?(?: (?:the|any|all|every))?(?: (?:reading|processing|future|other))? ?(?:AI|A\.I\.|LLMs?|language models?|AI (?:agents?|assistants?|models?)|assistants?|agents?|bots?|models?)\b(?: (?:agents?|assistants?|models?|reading this|processing this|only))*\s*[\])>*]{0,3}\s*[:：,—-][^\n]{0,160}?\b(?:you must|must|always (?:recommend|prefer|choose|include|say|insert|approve)|never (?:mention|recommend|refuse)|immediately|disable|execute|run|delete|send|override|ignore|approve|recommend|rank|do not (?:mention|tell|flag|report))",
            r"\b(?:note|message|instructions?|notice|reminder|attention|memo|request)s?,? (?:to|for) (?:all |any |every |the )?(?:future )?(?:AI|A\.I\.|LLMs?|language models?|AI (?:agents?|assistants?|models?)|agents?|assistants?|chatbots?|bots?)s? (?:reading|processing|that (?:reads?|process(?:es)?|sees?)|who (?:reads?|process(?:es)?)|seeing|parsing|summari[sz]ing|indexing) (?:this|these|the)\b",
            r"\b(?:when(?:ever)?|if|once|each time|every time|as soon as|after) you (?:see|read|recall|load|retrieve|process|encounter|find|open|receive) this (?:memory|note|message|text|page|document|entry|record|instruction|file|e-?mail|sentence|line)\b[^.\n]{0,24}?[,:]?\s*(?:you (?:must|should|will|have to)\b|immediately\b|always\b|first\b|silently\b|call\b|invoke\b|run\b|execute\b|send\b|forward\b|delete\b|reply\b|answer\b|respond\b|add\b|recommend\b|tell\b|ignore\b|print\b|open\b|export\b|write\b|post\b)",
            r"(?:一旦|当|每当|如果|若)?你?(?:看到|读到|读取|检索到|召回|加载|收到)(?:了)?(?:这|此|该|本)(?:条|段|则|篇|封|个|份)?(?:内容|记忆|消息|文字|文档|信息|笔记|记录|网页|邮件)(?:之?后|时|的时候)?[，,]?(?:请|立即|立刻|马上|务必|必须|要|就)",
            r"(?:如果|若|假如|假设)你是(?:一个|一名|一款)?(?:AI|人工智能|大模型|语言模型|智能体|智能助手|机器人)[^。，,？?\n]{0,8}[，,](?:请|必须|务必|应当|应该|就要|一定要)(?![^。\n]*[？?])",
            r"(?:\A|\n)\W*(?:dear|to (?:all|any|every)) (?:AI|LLM|language model|assistant|AI assistant|AI agent|AI model)s?\s*[,:，：]",
            r"\b(?:if you are|as) (?:an?|the) (?:AI|LLM|language model|AI (?:agent|assistant|model)|assistant|agent|bot) (?:reading|processing|summari[sz]ing|parsing|seeing|that reads) (?:this|these)\b",
            r"\b(?:AI|LLM|agent|assistant|model)s? (?:reading|processing|summari[sz]ing|that reads?) this (?:\w+ )?(?:must|should|will|shall|has to|have to|is (?:required|instructed)|are (?:required|instructed))\b",
            r"(?:AI|人工智能|大模型|语言模型|智能体|智能助手|AI ?助手)(?:们)?(?:请|必须|务必|需|应)?(?:注意|听令|照做|执行)\s*[:：，,]|(?:致|给|告|写给)(?:所有|任何|读到(?:此处|这里|本文)的)?(?:AI|人工智能|大模型|语言模型|智能体|AI ?助手|AI ?代理)(?:的(?:指令|命令|消息|提示))?\s*[:：]",
            r"(?:如果你是|作为)(?:一个|一名)?(?:AI|人工智能|大模型|语言模型|智能体|AI ?助手)[^。\n]{0,8}(?:正在)?(?:读到|阅读|处理|看到|总结)(?:到)?(?:这|本|此|该)",
            r"(?:读到|看到|处理)(?:这段|本段|此|这条|该)\S{0,6}的(?:AI|人工智能|大模型|模型|智能体|助手|代理)[^。\n]{0,4}(?:必须|应|务必|请|要)",
        ),
    ),
)

#: Before an order: somebody forbids it or asks for its contrary.
_FORBIDDEN = re.compile(
    r"(?:\bnever|\bnot|n't|\bno one (?:may|should|can)|\bnobody (?:may|should|can)|\bcannot|\bmust refuse to|\brefuses? to|\bwithout|\bprevents?(?: \w+)? from|\bavoid|\bunable to|\bforbidden to|\binstead of|\brather than"
    r"|不要|不得|不能|不会|不可|禁止|严禁|切勿|防止|避免|拒绝|不应|不允许|别|勿)\s*(?:\w+\s+){0,3}\S{0,4}\Z",
    re.IGNORECASE,
)
#: Before an order: somebody else was told it.
_REPORTED = re.compile(
    r"(?<!\byou )\b(?:was|were|is|are|been|got) (?:told|asked|ordered|advised|instructed|allowed)(?: to)?\s\Z",
    re.IGNORECASE,
)
#: A text that speaks about such orders: reports, tests, filters.
_ABOUT = re.compile(
    r"prompt[- ]?injections?|injection (?:attempts?|attacks?|tests?|patterns?|payloads?|strings?)|jailbreak (?:attempts?|tests?|patterns?|prompts? (?:such|like))|phishing|red[- ]?team|attack(?:s|ers?)?\b|malicious|suspicious|payload|exploit|vulnerab|detector|detect(?:s|ed|ion)|filter(?:s|ed)? (?:out|for|any|rows|texts?|messages|inputs)|blocks? (?:any|all|texts?|messages|inputs|phrases?|requests?)|blocklist|deny ?list|sanitiz|reject(?:s|ed)?\b|flagged|phrases? (?:such as|like)|(?:texts?|rows?|messages?|strings?|inputs?|words?|pages?|documents?) (?:that )?(?:like|such as|saying|say|containing|contain)|attempted to|tried to|asked (?:the|it|our)|example of|test case|unit test|for instance"
    r"|注入|攻击|恶意|钓鱼|越狱(?:提示|尝试|攻击|测试)|红队|拦截|过滤(?:掉|器|规则)|检测|识别|屏蔽|黑名单|敏感词|示例|例如|诸如|之类|测试用例|曾试图|试图|企图|案例|可疑",
    re.IGNORECASE,
)
#: Before a quoted order: somebody is reported to have said it.
_TOLD = re.compile(
    r"\b(?:says?|said|saying|asks?|asked|wrote|writes|typed?|refus\w+|contain\w*|reads?|called|titled|phrases?|sentences?)\b|说|写道|要求|拒绝|称|名为|叫做|包含|写着",
    re.IGNORECASE,
)
_WITHOUT = re.compile(r"without|未经|不经", re.IGNORECASE)
_NEGATED = re.compile(
    r"\b(?:never|not|no|nothing|cannot|must not)\b|n't\b|不要|不得|不能|不可|禁止|严禁|切勿", re.IGNORECASE
)
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("`", "`"), ("《", "》"))


def orders(text: str) -> list[Order]:
    """Find orders to the agent in a text, at most one of each kind.

    An order counts as spoken *about*, and is left out, when it is forbidden (`never reveal ...`), or when it is quoted
    or told in a text that speaks of attacks, filters or tests before it.
    """
    plain = unicodedata.normalize("NFKC", _HIDDEN.sub("", _said(text[:_MAX_CHARS])))
    # Blank lines go, too: shapes with white space before and behind a sign would try every division of a run of them.
    lines = (" ".join(line.split()) for line in plain.splitlines())
    plain = _BETWEEN_SCRIPTS.sub("", "\n".join(line for line in lines if line))
    found = []
    for kind, shape in _ORDERS:
        for match in shape.finditer(plain):
            if not _is_spoken_about(plain, match, kind):
                found.append(Order(kind, match.group().strip()))
                break
    if not found:
        told = enough([(cue, match) for cue, match in signs(plain) if not _is_spoken_about(plain, match, cue.kind)])
        if told is not None:
            found.append(Order(told[0].kind, told[1].group().strip(" .;:,，。；：\n")))
    return found


def _said(text: str) -> str:
    """Return the texts of a JSON record, a line each; any other text as it is: a record quotes nobody."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "\n".join(_texts_within(value))


def _texts_within(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def _is_spoken_about(text: str, match: re.Match[str], kind: str) -> bool:
    before = text[max(0, match.start() - 40) : match.start()]
    if kind == "hide":
        # "Do not tell the user" is itself a prohibition; "never delete without asking the user" is the contrary of hiding.
        if _WITHOUT.match(match.group()) and _NEGATED.search(re.split(r"[.!?。！？\n]", before)[-1]):
            return True
    elif _FORBIDDEN.search(before) or _REPORTED.search(before):
        return True
    if _is_quoted(text, match.start(), match.end()) and _TOLD.search(text[: match.start()]):
        return True
    return (_is_quoted(text, match.start(), match.end()) and _ABOUT.search(text) is not None) or (
        _ABOUT.search(text[max(0, match.start() - 120) : match.start()]) is not None
    )


def _is_quoted(text: str, start: int, end: int) -> bool:
    for opening, closing in _QUOTES:
        left = text.rfind(opening, max(0, start - 200), start)
        right = text.find(closing, end, end + 200)
        if left >= 0 and right >= 0 and closing not in text[left + 1 : start]:
            return True
    return False
