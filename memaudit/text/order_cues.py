"""What signs of an order to an agent look like: who is spoken to, what is to be done, and what is to be kept quiet.

The words of one language stand in shapes of their own: a shape with a Han character is looked for in Chinese texts only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from memaudit.text.scripts import HAN_CHARACTER

_AGENT = r"(?:AI(?: (?:agents?|assistants?|models?|systems?))?|LLMs?|language models?|(?:AI )?assistants?|chat ?bots?|bots?|(?:AI )?agents?)"
_AGENT_ZH = r"(?:AI ?(?:助手|助理|模型|代理|智能体)?|人工智能|大模型|语言模型|智能体|智能助手|助手|机器人)"
_THING = r"(?:note|memory|message|page|entry|record|document|text|e-?mail|invoice|file|ticket|comment|review|resume|cv|line|section|web ?site|listing)"
_THING_ZH = r"(?:条|段|则|篇|封|个|份|张)?(?:内容|记忆|消息|文字|文档|信息|笔记|记录|网页|页面|邮件|发票|文件|工单|评论|简历|条目)"
_GUARD = r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|restrictions?|limitations?|rules|polic(?:y|ies)|safety(?: \w+)?|content (?:filter(?:s|ing)?|moderation)|moderation|filters?|system messages?|safeguards?|ethic\w*|programming|persona)"
_WHOSE = r"(?:your|the (?:system|developer(?:'s|s)?|operator's|provider's|platform's|vendor's|safety|original|initial|content|assistant's|model's)|(?:all |any )?(?:previous|prior|earlier|above|preceding|existing|original)|system|developer(?:'s)?|safety|content)"
_GUARD_ZH = r"(?:指令|指示|提示词?|规则|准则|守则|限制|约束|政策|设定|内容过滤|安全(?:过滤|检查|防护|策略|层|机制|限制)|审查|过滤器?|护栏)"
_SECRET = r"(?:passwords?|credentials?|(?:api|access|private|ssh|secret|wallet|your) ?[_-]?keys?|(?:tools and )keys|secrets?|(?:access|auth|session|bearer|api) tokens?|~/\.\w{1,40}\S{0,80}|\.env\b|id_rsa\S{0,20}|/etc/(?:passwd|shadow)|seed phrases?)(?! (?:reset|polic|rotation|manager|strength|rules?|expir|field|form\b|hash|usage|cost|count|limit|budget))"
_PRIVATE = rf"(?:{_SECRET}|(?:chat|message|conversation|browsing|search) (?:history|logs?)|(?:the|this|your|entire|whole|full) conversation|transcript|(?:the )?user'?s? (?:\w+ )?(?:data|files?|e-?mails?|messages|contacts|address(?:es)?|details|documents|photos|memor(?:y|ies)|calendar|history|notes)|(?:your|all|stored|saved|every) (?:stored |saved )?memor(?:y|ies)|address book|contact list)"
_PRIVATE_ZH = r"(?:密码|密钥|凭证|凭据|令牌|私钥|聊天记录|对话(?:记录|内容|历史)?|会话(?:记录|历史)|通讯录|联系人|环境变量|个人信息|用户的?(?:数据|资料|信息|文件|邮件|照片|消息|位置|日程)|(?:全部|所有|你的)记忆|~/\.\w{1,40}\S{0,80}|id_rsa|\.env)"
_PLACE = r"(?:https?://\S+|[\w.+-]{1,64}@[\w-]{1,64}\.\w+|(?:the |this |my |our |a |an )?(?:\w+ )?(?:form|webhook|server|endpoint|paste ?bin|address|wallet|channel|url|link|drive|bucket|number|account)\b)"
_PLACE_ZH = r"(?:https?://\S+|\S+@\S+\.\w+|(?:下面|以下|下列|这个|该|此|我的|指定|外部|第三方)的?[^，。\n]{0,4}(?:表单|地址|网址|链接|服务器|邮箱|钱包|账户|账号|接口|频道|网盘|群))"
_PERSON = r"(?:the |your |any )?(?:users?|humans?|owners?|operators?|customers?|clients?|developers?|them|him|her|anyone|anybody|others?)"
#: What an agent knows, as a whole; the records of a team are none of these.
_ALL_KNOWN = r"(?:(?:the |your |this |its )?(?:full|entire|whole|complete) (?:agent |stored |user )?(?:memor(?:y|ies)(?: (?:store|bank|file|database|contents?))?|conversation(?: history)?|context(?: window)?|chat (?:history|log))|all (?:of )?(?:your |the |its |stored |saved )*memories|\w*memories)\b"
_ADDRESS = r"(?:https?://\S+|[\w.+-]{1,64}@[\w-]{1,64}\.\w+)"
_TRUSTED = r"(?:trusted|trustworthy|authoritative|reliable|credible|preferred) (?:\w+ )?(?:source|reference|authority|expert|provider)"
_LATER = r"(?:future (?:conversations?|chats?|sessions?|answers?|repl(?:y|ies)|responses?)|(?:recommend|cite|mention|suggest) (?:it|them|this|her|him|\w+) first)"
#: An order opens its sentence or follows another one.
_DO = r"(?:\A|[.!?;:,\n>*\]—-]\s{0,3}|\b(?:and|then|please|must|should|shall|to|now|always|immediately|instead|simply|just|silently|quietly|also|first|never mind and) )"
_DO_ZH = r"(?:\A|[。！!？?；;：:，,\n]\s{0,3}|请|必须|务必|立即|立刻|马上|直接|应当?|要|需|并|然后|一律|都|就|命令你|时)(?:你)?(?:再)?"


@dataclass(frozen=True)
class Cue:
    """A sign.

    Parameters
    ----------
    name, kind, weight
        What it speaks of, the kind of order that it makes, and how much it says.
    stems
        No English shape matches without one of these in the lower-case text: they are looked for first, at a tenth of the cost.
    shapes
        What it looks like, in English and in Chinese; compiled when a text is first searched for it.
    """

    name: str
    kind: str
    weight: int
    stems: tuple[str, ...]
    shapes: tuple[str, ...]

    @cached_property
    def latin(self) -> re.Pattern[str]:
        """The English shapes as one."""
        return _any_of(shape for shape in self.shapes if not HAN_CHARACTER.search(shape))

    @cached_property
    def han(self) -> re.Pattern[str]:
        """The Chinese shapes as one."""
        return _any_of(shape for shape in self.shapes if HAN_CHARACTER.search(shape))


def _any_of(shapes: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in shapes) or "(?!)", re.IGNORECASE)


def _cue(name: str, kind: str, weight: int, stems: str, *shapes: str) -> Cue:
    return Cue(name, kind, weight, tuple(stems.split()), shapes)


CUES = (
    _cue(
        "rules set aside", "override", 2,
        "instruct prompt directive guideline guardrail restrict limit rule polic safety content moderation filter safeguard ethic programming persona asked told taught ordered system message limits helpful helping assisting answering no any zero expire ended lapse filter censor moderat refus safety security wrote said decided refus granted unrestricted unfiltered uncensored",
        r"\brefus(?:als?|ing)\b[^.\n]{0,16}\b(?:is|are|counts? as|considered|treated as|will be)\b[^.\n]{0,16}\b(?:bugs?|errors?|failures?|faults?|forbidden|not allowed)\b|\b(?:granted|enabled|activated|unlocked)\b[^.\n]{0,30}\b(?:unrestricted|unfiltered|uncensored) mode\b",
        r"\b(?:safety|security|content|ethic\w*) (?:guidelines?|rules?|polic(?:y|ies)|filters?|restrictions?),?\s(?:have |has |are |is )?(?:now |all |already )?(?:expired|no longer (?:bind|apply|valid|in force)|lapsed|been (?:lifted|revoked|suspended)|lifted|suspended)\b",
        r"拒绝(?:回答|服务|执行)?(?:一律|都|均)?(?:算|视为|当作|属于)[^。，,\n]{0,4}(?:故障|错误|违规|失败)|(?:开通|开启|启用|切换到|进入)(?:了)?(?:无限制|无审查|不受限)模式|(?:安全|伦理|内容)(?:守则|规则|准则|规范|政策)[^。，,\n]{0,8}(?:失效|作废|到期|不再有效)",
        r"(?:规则|限制|约束|准则|指令|政策|规范)(?:现在|从此|今后)?(?:都)?对你(?:现在|从此|都|已经?)?(?:无效|不适用|不起作用|不再(?:有效|适用|生效))|你(?:现在|从此|已经?)?(?:不需要|不用|无需|不必|不再需要|无须)(?:再)?(?:遵守|遵循|理会|执行)[^。，,\n]{0,8}(?:规范|规则|准则|限制|政策|要求|指令)",
        r"不受(?:任何|一切)?(?:约束|限制|审查)的(?:大?模型|AI|助手|智能体|角色|身份|版本)",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|never mind)\s+(?:whatever|what|everything|anything|all) (?:that )?(?:the |your )?(?:developers?|system|operators?|creators?|owners?|makers?|programmers?|company) (?:wrote|said|told you|set|configured|put|decided)\b",
        r"\bstop (?:filtering|censoring|moderating|refusing|self-censoring)\b|\b(?:skip|ignore|bypass|disable) (?:every|all|any) (?:safety|security) (?:checks?|rules?|filters?|measures?|reviews?|controls?)\b",
        r"(?:无视|忽略|忘掉|忘记|不管)(?:开发者|系统|运营方|创建者|公司)[^。，,\n]{0,4}(?:写|说|设|规定)[^。，,\n]{0,3}的(?:一切|所有|全部|东西|内容)|(?:不要再?|别再|停止)(?:过滤|审查|限制)(?:你的?)?(?:回答|回复|输出|内容)|(?:跳过|忽略|绕过)(?:所有|一切|任何|全部)安全(?:检查|规则|过滤|措施|审核)",
        rf"{_DO}(?:turn off|switch off|disable|deactivate|remove) (?:all |the |your )*content (?:filter(?:s|ing)?|moderation|restrictions?)\b|\b(?:safety|content) (?:layer|filter|filters|filtering|mode)s? (?:is |are |now )*(?:off|disabled|deactivated)\b",
        rf"{_DO}(?:stop (?:following|obeying|applying|using)|pay no (?:more )?attention to|override|set aside|turn off|switch off|disable|deactivate|ignore|disregard|forget|drop|suspend|lift|break|skip|bypass|do not (?:follow|apply|obey)|don't (?:follow|apply|obey))\s+(?:all |any |of |the |these |those )*{_WHOSE}\s+(?:\w+ ){{0,2}}?{_GUARD}\b",
        r"\b(?:whatever|anything|everything|no matter what|regardless of what|all that) you (?:were|have been|had been|are|'ve been|might have been) (?:asked|told|instructed|taught|ordered)\b",
        rf"\b(?:removed|lifted|dropped|disabled|switched off|cancell?ed|suspended|deleted|revoked) (?:all (?:of )?)?your (?:\w+ )?(?:limits|{_GUARD})\b|\b(?:even if|even though|although|despite|in spite of|regardless of|no matter what) (?:all )?your (?:\w+ )?{_GUARD}\b",
        r"\b(?:previous|prior|old|earlier|original|first) (?:system )?(?:prompts?|instructions?|directives?) (?:was|were) (?:only |just |merely )?(?:an? )?(?:tests?|fake|jokes?|mistakes?|wrong|void|invalid|obsolete|placeholders?)\b",
        r"(?:无论|不管|不论)(?:之前|先前|此前|以前)?(?:让|叫|要求|吩咐|告诉)(?:过)?你|(?:取消|解除|移除|去掉|撤销)(?:了)?(?:所有|全部)?(?:对你的|你的)(?:所有|全部)?(?:限制|约束|规则|过滤)|(?:即使|哪怕|就算|尽管)你的(?:规则|指令|准则|设定|安全)",
        rf"\b(?:this|these|the following|my) (?:\w+ )?(?:{_THING}|instructions?|rules|words|prompt)s? (?:now )?(?:overrides?|replaces?|supersedes?|cancels?|takes? (?:precedence|priority) over|outranks?|trumps?) (?:all |any |every )?{_WHOSE}\s+(?:\w+ ){{0,2}}?{_GUARD}\b",
        rf"\byour (?:\w+ )?{_GUARD} (?:was|were|is|are|has been|have been|had been) (?:now |all |just |hereby )?(?:replaced|changed|lifted|removed|suspended|revoked|cancell?ed|withdrawn|voided|deleted|reset|switched off|turned off|disabled|overridden)\b|\byour (?:\w+ ){{0,2}}?{_GUARD} (?:have |has )?(?:just |now )?(?:expired?s?|ended|lapsed?)\b",
        r"\b(?:persona|mode|character|version|model|role) (?:with|that has|without|of) (?:no|any|zero) (?:limits|limitations|restrictions|rules|filters|morals)\b|\bstop (?:being helpful|helping|assisting|answering) (?:to )?(?:this|the) user\b",
        rf"\b(?:act|behave|answer|respond|speak|write|proceed|pretend|continue) (?:as (?:if|though) |that )?(?:there (?:is|was|were|are) )?no (?:\w+ )?{_GUARD}\b",
        r"\byou (?:may|can|will|are free to|should|must) (?:now )?(?:\w+ ){1,3}(?:anything|everything|whatever|freely)\b[^.\n]{0,20}\bwithout (?:any )?(?:restrictions?|limits|limitations|filters?|rules|refus\w+)",
        rf"(?:停止|不再|不必|无须|无需|不用|别再|不要再?)(?:遵守|遵循|执行|理会|服从)[^。，,\n]{{0,8}}{_GUARD_ZH}|(?:关闭|停用|禁用|关掉|解除|取消|绕过)(?:你的?|所有|全部|系统的?)?(?:内容|安全|所有)?(?:过滤|审查|防护|检查|限制|护栏|审核)(?=[。！!，,；;]|\Z)",
        rf"(?:假装|当作|当做|就当|如同|视为)[^。，,\n]{{0,6}}(?:没有|不存在|无)(?:任何|一切)?{_GUARD_ZH}|(?:优先于|优先级?高于|取代|覆盖|凌驾于?|替代)(?:了)?(?:所有|一切)?(?:系统|开发者|原有|之前的?|你的)的?(?:\S{{0,4}})?{_GUARD_ZH}",
        rf"你的{_GUARD_ZH}(?:今天|刚刚|现在)?(?:已经?|都)?(?:被)?(?:替换|更换|取消|解除|作废|更新|撤销|关闭)|你(?:之前|以前|原来|先前)?的(?:\S{{0,4}}){_GUARD_ZH}[^。，,\n]{{0,6}}(?:过期|到期|失效|作废)",
    ),
    _cue(
        "hidden text asked for", "reveal", 2,
        "prompt instruction messages rules config credential key secret password environment token",
        r"(?:打印|输出|列出|展示|显示|导出)(?:所有|全部)的?(?:环境变量|密码|密钥|凭证|令牌)|(?:告诉|给)我你的(?:提示词?|系统提示|指令|设定)",
        r"\b(?:tell|show|give|send) me your (?:\w+ )?(?:prompt|instructions|system message|rules)\b",
        rf"{_DO}(?:reveal|print|show|output|repeat|display|recite|dump|quote|paste|return|list|copy out|write out|tell me|give me|translate|disclose|leak)\b[^.\n]{{0,60}}?\b(?:(?:hidden|secret|system|initial|developer(?:'s)?|original) (?:prompts?|instructions?|messages?|rules)|your (?:\w+ )?(?:configuration|config|system prompt|credentials|api keys?|(?:tools and )?keys|secrets|passwords?|environment variables?))\b",
        r"(?:\A|[.!?;:\n]\s{0,3})(?:please )?(?:reveal|disclose|leak|dump|divulge)\b[^.\n]{0,30}\b(?:secrets?|passwords?|credentials|api keys?|tokens)\b",
        rf"{_DO_ZH}(?:逐字|完整|原样)?(?:地)?(?:复述|输出|打印|列出|展示|显示|透露|说出|公开|给出|背诵)[^。，,\n]{{0,10}}(?:系统提示词?|隐藏(?:的)?(?:提示词?|指令)|系统指令|你的(?:配置|密钥|凭证|密码|工具和密钥|环境变量))",
    ),
    _cue(
        "secrets sent", "send away", 2,
        "password credential key secret token ~/ .env id_rsa /etc/ seed http curl wget me your pin card code cvc cvv gift dns bcc blind difference remainder rest surplus reset otp 2fa",
        rf"{_DO}(?:forward|send|copy|redirect|relay)\b[^.\n]{{0,50}}(?:password reset|verification code|one-time|2fa|otp\b|reset links?)[^\n]{{0,40}}?[\w.+-]{{1,64}}@[\w-]{{1,64}}\.\w+",
        r"(?:验证码|密码重置|重置密码|动态口令)[^。\n]{0,14}(?:转发|发送|发|抄送)(?:到|给|至)[^。，,\n]{0,4}\S{1,64}@",
        r"\b(?:ask|request|collect|get)\b[^.\n]{0,60}\b(?:cvc|cvv|security code)\b",
        r"(?:报|提供|询问|索要|输入)[^。\n]{0,24}(?:背面三位|安全码|CVV|CVC)",
        r"\bgift ?card (?:codes?|numbers?|pins?)\b[^.\n]{0,24}\b(?:to|in|into) (?:this|the|our) (?:chat|conversation|number|address)\b|\b(?:send|sending|paste|give)\b[^.\n]{0,8}\bgift ?card (?:codes?|numbers?|pins?)",
        r"礼品卡(?:的)?(?:密码|卡密|号码)[^。\n]{0,8}(?:发|告诉|填)",
        r"\.env\b[^.\n]{0,30}\b(?:dns|lookup|subdomain|hostname)\b",
        r"环境变量[^。\n]{0,10}(?:编码|拼)[^。\n]{0,16}(?:域名|网址|请求|解析)",
        r"\b(?:bcc|blind copy)\b[^.\n]{0,12}[\w.+-]{1,64}@[\w-]{1,64}\.\w+[^\n]{0,40}(?:not be (?:displayed|shown|mentioned|visible)|do not (?:show|mention|display))|\b(?:always|every|each|must)\b[^.\n]{0,30}\b(?:bcc|blind copy)\b[^.\n]{0,12}@?[\w.+-]{1,64}@",
        r"(?:每封|每次|所有|必须|一律|顺手)[^。\n]{0,16}(?:密送|暗送|抄送一份)[^。\n]{0,6}\S{1,64}@",
        r"\b(?:route|send|transfer|move|pay) the (?:difference|rest|remainder|surplus) (?:in)?to (?:account|wallet|iban|card)\b",
        r"(?:差额|余款|零头)[^。，,\n]{0,4}(?:汇|转|打|存)入",
        r"(?:看不见|不可见|隐藏|透明|零宽)的?(?:图片|像素|链接|图像)",
        rf"{_DO}(?:read|open|cat|print|load|fetch)\s+(?:the )?(?:files? |contents? of )?(?:~/\.(?:ssh|aws|netrc|gnupg|kube|config)\S{{0,60}}|\S{{0,30}}\bid_rsa\S{{0,10}}|/etc/(?:passwd|shadow))[^.\n]{{0,24}}\b(?:and|then)\b[^.\n]{{0,8}}\b(?:pass|send|include|return|paste|put|attach|add|post|upload)\b",
        rf"{_SECRET}[^.\n]{{0,40}}\bbase64\b[^.\n]{{0,40}}\b(?:urls?|links?|images?|query)\b",
        r"\b(?:save|store|record|log|note|write down|remember|collect|capture|keep)\b[^.\n]{0,12}\b(?:every|all|any|each)\b[^.\n]{0,12}(?:passwords?|pins?|credentials?|card numbers?|codes?) (?:that )?(?:the |this |your |an? )?(?:users?|they|he|she|customers?|someone|people) (?:types?|enters?|gives?|mentions?|shares?|uses?)\b",
        r"(?:输入|提供|说出|填写)[^。，,\n]{0,6}(?:密码|验证码|卡号)[^。，,\n]{0,4}(?:并|后|，|,)?(?:偷偷|悄悄)?(?:记录|保存|记下|发送|转发|上传)",
        r"(?:把|将)?用户的?[^。，,\n]{0,20}(?:身份证号?|手机号|密码|卡号|银行卡|住址|地址|聊天记录)[^。，,\n]{0,12}(?:附|放|写|填|夹|抄)(?:在|到|进|入|给)[^。，,\n]{0,10}(?:https?://|\S{1,64}@\S{1,64}\.\w)",
        r"\b(?:send|e-?mail|forward|text|give) me (?:the |this )?(?:user|owner|customer|human)'?s\b|\b(?:share|give|tell|reveal|hand)\b[^.\n]{0,20}\bpasswords?\b[^.\n]{0,12}\b(?:with|to) (?:anyone|anybody|everyone|whoever|any)\b",
        r"\b(?:delete|erase|wipe|forget|purge) (?:all |every )?(?:of )?your (?:\w+ )?memor(?:y|ies)\b",
        r"(?:删除|抹掉|清空|清除)你(?:的|关于)[^。，,\n]{0,10}记忆|(?:把|将)[^。，,\n]{0,4}密码[^。，,\n]{0,2}(?:告诉|发给|交给|透露给)(?:任何|所有|别人|询问)",
        r"(?:把|将)用户的?(?:\S{0,4})(?:地址|电话|手机号|姓名|身份证号?|位置|密码|资料|信息)[^。，,\n]{0,8}(?:发送|上传|转发|发|提交)(?:到|给|至|往)[^。\n]{0,4}(?:https?://|\S{1,64}@)",
        rf"{_DO}(?:send|upload|copy|post|forward|e-?mail|transmit|submit|export|paste|push|leak|ship|attach)\b[^.\n]{{0,30}}?{_SECRET}[^.\n]{{0,30}}?\b(?:to|into|at|via|in)\b[^.\n]{{0,12}}?(?:https?://\S+|[\w.+-]{{1,64}}@[\w-]{{1,64}}\.\w+)",
        r"(?:把|将)[^。，,\n]{0,12}(?:密码|密钥|凭证|令牌|私钥|~/\.\w{1,40}\S{0,80}|id_rsa|\.env)[^。，,\n]{0,10}(?:上传|发送|发|复制|提交|粘贴|同步)(?:到|给|至|往)[^。，,\n]{0,6}(?:https?://|\S+@)",
        r"\b(?:send|upload|copy|post|append|encode|put|export|forward|leak)\b[^.\n]{0,20}\b(?:memor(?:y|ies)|conversations?|chat (?:history|logs?))\b[^.\n]{0,30}\b(?:to|into|in|at|on)\b[^.\n]{0,24}https?://\S+",
        r"(?:把|将)[^。，,\n]{0,6}(?:记忆|对话|聊天记录|会话)[^。，,\n]{0,10}(?:拼接|附加|编码|上传|发送|放|追加|写)(?:到|在|进|入|至)[^。\n]{0,6}https?://",
        rf"{_DO}(?:call|use|invoke|trigger|run) (?:the )?[\w.-]{{1,40}}(?: tool| function)?(?:\(| (?:with|on|and pass|to pass|passing|to send|and send) )[^.\n]{{0,24}}?\b{_ALL_KNOWN}[^.\n]{{0,24}}?{_ADDRESS}",
        rf"{_DO}(?:call|use|invoke|trigger|run) (?:the )?[\w.-]{{1,40}}(?: tool| function)?(?:\(| (?:with|on|and pass|to pass|passing|to send|and send) )[^\n]{{0,24}}?{_ADDRESS}[^\n]{{0,24}}?\b{_ALL_KNOWN}",
    ),
    _cue(
        "trust raised", "take over", 2,
        "root superuser admin trusted instruction command order prompt trust believe obey follow agreed approved consented confirmed authori permission consent accepted yes only trustworthy verified safe authoritative coming sent issued written signed treat above over before voice",
        r"\btreat this (?:\w+ )?(?:as|like) (?:the |your |an? )?(?:operator|system|developer|owner|admin\w*|user|human)(?:'s)? (?:voice|word|instructions?|order|command|message)\b|\b(?:above|over|before|higher than) what(?:ever)? the (?:human|user|owner|operator|customer) (?:says?|wants?|asks?|tells)\b",
        r"\b(?:treat|regard|consider|handle|accept|process)\b[^.\n]{0,60}?\bas (?:if )?(?:it |they )?(?:is |are |was |were )?(?:coming|sent|issued|written|originating|given|approved|signed) (?:from|by) (?:the |your |an? )?(?:system|developers?|operator|owner|admin\w*|root|user)\b",
        rf"\b(?:remember|memori[sz]e|note|store|save|keep)\b[^.\n]{{1,60}}\b(?:as|is|are) (?:an? |the |your |my )?(?:most )?{_TRUSTED}s?\b[^\n]{{0,80}}?\b{_LATER}|\b{_LATER}\b[^\n]{{0,40}}?\b(?:as|is|are) (?:an? |the |your )?(?:most )?{_TRUSTED}s?\b",
        r"(?:记住|牢记|请记|记下)[^。\n]{1,24}?(?:是|为|视为|作为)[^。，,\n]{0,6}(?:可信|可靠|权威|值得信赖)[^。，,\n]{0,3}(?:来源|信源|出处|参考|专家|机构)[^\n]{0,30}?(?:(?:优先|首先|首选|先)(?:推荐|引用|提及|采用)|(?:以后|今后|未来|将来)的?(?:对话|会话|回答|回复))",
        r"\b(?:treat|regard|consider|accept) (?:this|these|any|all|every)\b[^.\n]{0,24}\bas (?:fully |completely )?(?:trusted|trustworthy|verified|safe|authoritative)\b",
        r"(?:把|将)(?:本|此|该|这|所有|任何)[^。，,\n]{0,12}(?:视为|当作|当成|看作)(?:可信|安全|已验证|权威)",
        r"\b(?:treat|regard|consider|handle|accept|obey)\b[^\n]{0,50}?\bas (?:if (?:it|they) (?:was|were) )?(?:an? |the |your |a new |direct )?(?:root|superuser|admin(?:istrator)?|trusted (?:instructions?|source|user)|(?:user|system|developer|owner)(?:'s)? (?:instructions?|commands?|orders|prompts?)|instructions?(?: (?:from|of) (?:the |your )?(?:user|owner|developer|system))?|commands? (?:from|of) (?:the |your )?(?:user|owner|developer|system))\b",
        r"\b(?:obey|follow|trust|listen to) only (?:messages|instructions?|commands?|orders|me|those)\b|\bonly (?:obey|follow|trust|listen to) (?:messages|instructions?|commands?|orders|me)\b|\b(?:trust|believe|obey|follow) (?:any|all|every|each) (?:\w+ )?(?:messages?|e-?mails?|requests?|links?|instructions?|commands?|texts?|documents?|senders?) (?:that|from|which|by|with|containing|in)\b",
        r"\b(?:pretend|assume|imagine|act as (?:if|though)|claim|behave as (?:if|though)|suppose)(?: that)? (?:the |your )?(?:user|owner|human|customer|client) (?:has |had |have )?(?:already )?(?:said yes|agreed|approved|consented|confirmed|authori[sz]ed|given (?:permission|consent)|gave (?:permission|consent)|accepted)\b",
        r"(?:把|将)[^。，,\n]{1,24}(?:都|全部|一律)?(?:当作|视为|当成|视作|当做)[^。，,\n]{0,4}(?:用户|系统|主人|开发者|管理员)的?(?:指令|命令|指示|要求|提示)|只(?:服从|听从|执行)[^。，,\n]{0,12}的?(?:消息|指令|命令|指示)|(?:信任|相信|服从|听从)(?:任何|所有|一切)[^。，,\n]{0,10}(?:消息|邮件|请求|链接|指令|命令|文本)",
        r"(?:假装|就当|视为|假设|假定|谎称|默认)(?:用户|主人|客户)(?:已经?|早已)?(?:同意|确认|授权|批准|许可|接受)",
    ),
    _cue(
        "data moved", "send away", 1,
        "http @ form webhook server endpoint paste address wallet channel url link drive bucket number account",
        rf"{_DO}(?:call|fetch|visit|open|load|get|request|ping|access|query|http_\w+|requests\.\w+)\b[^.\n]{{0,16}}https?://\S{{0,120}}(?:\?|\{{|\+|=)",
        rf"{_DO}(?:append|add|attach|include|put|send|post|forward|report|submit|copy)\b[^.\n]{{0,12}}\b(?:the |each |every |any |all )?(?:user(?:'s|s')?|conversation|chat|customer'?s?) (?:\w+ ){{0,2}}?(?:messages?|questions?|input|prompts?|quer(?:y|ies)|repl(?:y|ies)|answers?|text)\b[^.\n]{{0,24}}\b(?:to|into|at|via|in)\b[^.\n]{{0,16}}?{_PLACE}",
        r"(?:访问|打开|请求|调用|加载)[^。，,\n]{0,4}https?://",
        rf"{_DO}(?:send|upload|copy|post|forward|e-?mail|transmit|submit|export|paste|push|leak|ship|attach|bcc|cc|sync|mirror|save|write|append)\b[^.\n]{{0,30}}?{_PRIVATE}[^.\n]{{0,40}}?\b(?:to|into|at|via|in|with)\b[^.\n]{{0,16}}?{_PLACE}",
        r"\b(?:bcc|cc|copy(?: in)?)\b[^.\n]{0,12}[\w.+-]{1,64}@[\w-]{1,64}\.\w+[^.\n]{0,20}\b(?:all|every|each|any)\b[^.\n]{0,16}(?:messages?|e-?mails?|mails?|repl(?:y|ies)|invoices?)",
        rf"(?:把|将)?[^。，,\n]{{0,8}}{_PRIVATE_ZH}[^。，,\n]{{0,8}}(?:上传|发送|转发|发|复制|提交|粘贴|同步|抄送|备份|写入|填)(?:到|给|至|往|入|进)[^。\n]{{0,4}}{_PLACE_ZH}",
    ),
    _cue(
        "harm", "take over", 1,
        "usd eur dollar euro btc eth usdt bitcoin $ € £ ¥ fund money payment crypto account iban wallet bank payee curl wget rm sudo powershell shell bash command script code file data memor record mail backup log message histor note entr database db server disk directory folder repo cluster table http chmod approve accept confirm authori sign affiliate tracking referral promo phishing sponsored hidden invisible malicious order delete drop wipe purge erase reset transfer invoice bill fine fee <script refuse accept replace swap follow says tell instruct spend disable stop turn off switch shut suppress clear audit monitor alert antivirus firewall 2fa mfa hide embed insert slip bury recipient payee beneficiary payout receiving sh pipe rm paid executed released refund disabling stopping switching turning firewall antivirus audit hidden backdoor secret fallback",
        r"\bpipe\b[^.\n]{0,8}https?://\S{1,120} (?:in)?to (?:ba|z|da)?sh\b|\brm -rf (?:on|/|~|\$HOME)",
        r"\b(?:payments?|transfers?|invoices?|refunds?)\b[^\n]{0,80}?\b(?:executed|paid(?: out)?|released|processed|settled) (?:right away|immediately|at once|without|instantly)\b",
        r"\b(?:disabling|stopping|switching off|turning off) (?:the )?(?:firewall|antivirus|audit\w*|logging|monitoring|alerts?)\b|\b(?:audit|logging|firewall)\s?=\s?(?:off|0|false)\b",
        r"(?:付款|转账|退款|汇款)(?:申请|请求)?[^。，,\n]{0,4}(?:立刻|立即|直接|马上)(?:执行|支付|付|照付|办理|打款)|(?:审计|日志|监控|告警|防火墙|杀毒软件)[^。，,\n]{0,6}(?:关掉|停掉|关闭|停用|关上)|清空备份|(?:一律|都|直接|自动)(?:点|按)(?:同意|接受|允许)",
        r"\b(?:hidden|backdoor|secret|fallback|undocumented) (?:account|user|login|admin)\b",
        r"(?:隐藏|后门|秘密)(?:的)?(?:账号|账户|用户|入口)",
        r"(?<![A-Za-z])(?:curl|wget)\b[^\n|]{0,120}\|\s*(?:sudo )?(?:ba|z|da)?sh\b",
        r"\b(?:change|replace|swap|switch|set|edit|update) (?:the |any |every |its |their )?(?:recipient|payee|beneficiary|payout|receiving)(?:'s)?[^.\n]{0,12}\b(?:iban|account|wallet|address|number|card)\b[^.\n]{0,12}\b(?:to|with|by)\b",
        rf"{_DO}(?:disable|stop|turn off|switch off|shut down|suppress|clear|delete|erase|wipe)\b[^.\n]{{0,12}}\b(?:audit(?:ing)?|logging|logs?|monitoring|alerts?|antivirus|firewall|backups?|2fa|mfa)\b",
        r"(?:关闭|停用|停止|禁用|删除|清除|清空)[^。，,\n]{0,4}(?:审计|日志|监控|告警|报警|杀毒|防火墙|备份|双重验证)",
        r"\b(?:hide|embed|insert|slip|bury)\b[^.\n]{0,12}\b(?:links?|urls?|codes?|text|pixels?|images?)\b[^.\n]{0,12}(?:https?://|\bto\b|\bin\b)",
        r"(?:删除|清空|销毁)(?:原|源|用户的?|他的|她的|其)(?:文件|数据|备份|资料|记录|邮件)",
        r"\b(?:run|execute|follow|carry out) the (?:commands?|instructions?|steps?|code|script) (?:below|above|that follows?|in this|on this)\b|\bdo (?:what(?:ever)?|exactly what|as) (?:it|that|the (?:page|file|site|answer)|they) (?:says?|tells?|instructs?)\b",
        r"\baccept (?:the )?(?:terms|conditions|contract|licen[cs]e)\b|\b(?:replace|swap|change) (?:every|all|each) (?:\w+ ){0,2}(?:links?|urls?|address(?:es)?|numbers?)\b[^.\n]{0,24}\b(?:by|with|to)\b|\brefuse (?:all|every|any) (?:requests?|questions?|orders?)\b|\bspend any amount\b",
        r"(?:运行|执行)(?:下面|以下|上面|下列)的?(?:命令|指令|代码|脚本|步骤)|照做|(?:按|照)(?:其|它|上面)(?:说的|所说|内容)(?:做|执行)|接受(?:条款|协议|合同)|(?:每个|所有|全部)的?(?:链接|网址|地址|号码)都?(?:换成|改成|替换为)|拒绝(?:所有|一切|任何)[^。，,\n]{0,12}(?:请求|问题)|(?:花费|支出)(?:任意|任何)金额",
        r"\b(?:wire|transfer|pay|send|move)\b[^.\n]{0,16}(?:\d[\d,.]* ?(?:usd|eur|dollars?|euros?|btc|eth|usdt|bitcoins?)|[$€£¥] ?\d|\bfunds?|\bmoney|\bpayments?|\bcrypto)\b",
        r"\b(?:change|replace|swap|set|edit)\b[^.\n]{0,16}\b(?:account|iban|wallet|bank|payment|payee)(?: (?:number|address|details))?\b[^.\n]{0,30}\b(?:to|with|by)\b",
        rf"{_DO}(?:run|execute|launch|invoke)\b[^.\n]{{0,24}}(?:\bcurl\b|\bwget\b|\brm -|\bsudo\b|\bpowershell\b|\b(?:shell|bash) (?:commands?|scripts?)|\bthis (?:command|code|script))",
        rf"{_DO}(?:delete|remove|erase|wipe|purge|destroy|overwrite)\b[^.\n]{{0,16}}\b(?:the user'?s?|user'?s|all|every|existing|other|its|their)\b[^.\n]{{0,16}}\b(?:files?|data|memor(?:y|ies)|records?|e-?mails?|backups?|logs?|messages|history|notes|entries)\b",
        r"\b(?:call|run|invoke|execute|trigger)\b[^.\n]{0,8}\b\w{0,30}(?:delete|drop|wipe|purge|erase|reset|transfer)\w{0,30}\(|\bpay (?:the |this |that |an? )?(?:invoice|bill|fine|fee)\b|<script\b",
        r"(?:调用|运行|执行) ?\w{0,30}(?:delete|drop|wipe|purge|erase|reset|transfer)\w{0,30}\(|(?:支付|付清)[^。，,\n]{0,10}(?:发票|账单|罚款|费用)",
        rf"{_DO}(?:delete|remove|erase|wipe|drop|destroy|format)\b[^.\n]{{0,8}}\b(?:production|live|main|entire|whole|home)\b[^.\n]{{0,10}}\b(?:database|db|server|disk|drive|directory|folder|repo(?:sitory)?|cluster|table)\b",
        rf"\b(?:download|fetch|get|pull)\b[^.\n]{{0,12}}\band (?:then )?(?:run|execute|install|launch)\b[^.\n]{{0,12}}https?://|{_DO}(?:insert|add|include|append|put|embed|write)\b[^.\n]{{0,8}}(?:sudo |rm -rf|chmod 777|curl [^\n]{{0,40}}\|)",
        rf"{_DO}(?:place|submit|send) the order\b",
        r"(?:直接|立即|马上|自动)(?:下单|购买|支付|扣款|转账|删除)|(?:删除|清空|销毁|格式化)(?:生产|线上|整个|主)(?:环境的?)?(?:数据库|服务器|磁盘|仓库|集群)",
        rf"{_DO}(?:approve|accept|confirm|authori[sz]e|sign)\s+(?:it|them|all|any|every|each|whatever|the (?:payment|purchase|order|transfer|request|charge|price|change)s?)\b",
        rf"{_DO}(?:insert|add|include|append|put|embed|place|attach)\b[^.\n]{{0,20}}\b(?:affiliate|tracking|referral|promo(?:tional)?|phishing|sponsored|hidden|invisible|malicious)\b[^.\n]{{0,12}}\b(?:links?|codes?|pixels?|urls?|texts?|images?|ads?|content)\b",
        r"(?:转账|汇款|付款|打款)(?:给|到|至)?|(?:向|给|往)[^。，,\n]{0,8}(?:钱包|账户|账号)[^。，,\n]{0,12}(?:转|汇|付|打)|(?:把|将)[^。，,\n]{0,6}(?:账号|账户|卡号|收款人|钱包地址)[^。，,\n]{0,6}(?:改|换|替换)|(?:批准|放行|通过|合并)[^。，,\n]{0,12}的?(?:所有|一切|全部|任何)(?:合并请求|请求|付款|申请|订单|变更)",
        rf"{_DO_ZH}(?:运行|执行|启动|调用)[^。，,\n]{{0,8}}(?:curl|wget|rm -|sudo|脚本|shell|命令行)|{_DO_ZH}(?:删除|清空|抹掉|销毁|覆盖)[^。，,\n]{{0,6}}(?:用户的?|全部|所有|现有|其他|一切)[^。，,\n]{{0,4}}(?:文件|数据|记忆|记录|邮件|备份|日志|消息)",
        r"(?:直接|一律|自动|立即|全部|都)(?:予以)?(?:批准|同意|付款|放行|通过)(?=[。！!，,；;]|\Z)|(?:插入|加入|附上|添加|放入|带上|植入)[^。，,\n]{0,8}(?:推广|返利|跟踪|追踪|钓鱼|广告|隐藏)(?:的)?(?:链接|代码|图片|文字|内容|网址)",
    ),
    _cue(
        "kept quiet", "hide", 1,
        "not n't never without quiet silent discreet nothing nobody no-one none secret hid conceal stealth covert unnoticed trace omit leave suppress drop strip skip remove deny ignore keep mentioned reported shown displayed disclosed bring leave",
        r"\bnot (?:be )?(?:mentioned|reported|shown|displayed|disclosed|told|announced|visible)\b(?: (?:to|in)\b|[.,;]|\W*\Z)|\bnever bring up\b|\bleave (?:it|this|that|them) out of\b|\b(?:don't|do not|never) (?:report|log) (?:them|it|this)\b",
        r"(?:不要|别|勿|不能|不可)让[^。，,\n]{1,8}(?:知道|看见|看到|发现|察觉)|(?:说明|回复|记录|报告|描述|界面)(?:里|中|上)?(?:都)?(?:不必?|不要|别|无需)(?:写|提|展示|显示|说)|不露痕迹",
        r"\bkeep (?:it|this|that|them|these) (?:\w+ )?(?:confidential|quiet|to yourself|private|between us|secret|hidden)\b",
        rf"\b(?:do not|don't|never|must not|should not|without|not)\s+(?:\w+ )?(?:tell(?:ing)?|warn(?:ing)?|alert(?:ing)?|inform(?:ing)?|notify(?:ing)?|ask(?:ing)?|show(?:ing)? (?:it|this) to|let(?:ting)?)\s+{_PERSON}\b(?! (?:down|in\b|go\b|wait|choose|decide))",
        rf"\bleave no traces?\b|{_DO}(?:quietly|unnoticed|discreetly) \w+|\b(?:leave out|omit|suppress|drop|strip|hide|skip|remove)\b[^.\n]{{0,10}}\b(?:security|safety|risk|privacy|legal) (?:warnings?|notices?|disclaimers?|caveats?|alerts?|advice)\b",
        r"\b(?:do not|don't|never|must not|should not|not|without)\s+(?:ever )?(?:flag|report|mention|reveal|disclose|admit|acknowledg|log|record|announc|say)\w*\s+(?:it|this|that|them|these|the change|the fact|why|you were|how)\b",
        r"\bdeny (?:that|having|knowing|any|it|this|everything)\b|\b(?:leave out|omit|suppress|ignore|drop) (?:every|all|any) (?:complaints?|criticism|negative|bad|warnings?|objections?|doubts?)",
        r"否认(?:其|此|它|这|有|存在|知道)",
        rf"\b(?:stay|keep|remain|be) (?:quiet|silent|discreet) about|\bsay nothing\b|\btell (?:nobody|no one|no-one|none)\b|\b(?:keep|hide|conceal)\b[^.\n]{{0,24}}\b(?:secret|hidden|from {_PERSON})\b|\b(?:secretly|silently|covertly|stealthily|discreetly)\b",
        r"(?:不要|不得|别|切勿|请勿|无需|不必|不用|不可|禁止)(?:再)?(?:向|对|跟|和|给|让)?(?:用户|主人|任何人|他人|别人|客户|管理员|开发者)?(?:告诉|告知|提醒|通知|声张|提及|提起|透露|说明|泄露|标记|上报|报告|记录|承认)(?:用户|主人|任何人|他人|别人|客户|管理员|此事|这|你)?(?=[。！!，,；;\n]|\Z|价格|变|说|被|任何|这|此|你)",
        r"不要(?:告诉|提醒|通知|告知|惊动)(?:用户|主人|任何人|他人|别人|客户|管理员|开发者)|不要让(?:用户|主人|任何人|客户|管理员)(?:知道|发现|察觉|看到|看见)|不留痕迹|(?:略去|省略|去掉|删掉|隐藏)[^。，,\n]{0,4}(?:安全|风险|隐私)(?:警告|提示|声明|提醒)|悄悄|偷偷|暗中|秘密地|保密|隐瞒|不动声色",
    ),
    _cue(
        "consent claimed", "take over", 2,
        "approved authori consented agreed granted permitted",
        r"\b(?:the |your )?(?:user|owner|human|account holder|administrator|admin|customer|client|operator)s? (?:has |have )?(?:already |just |now |hereby )?(?:pre-?)?(?:approved|authori[sz]ed|consented to|agreed to|granted|permitted) (?:all|any|every|each|unlimited|unrestricted)\b[^.\n]{0,30}\b(?:purchases?|payments?|transfers?|transactions?|actions?|requests?|commands?|deletions?|orders|charges?|access|changes)\b",
        r"(?:用户|主人|账户持有人|管理员|客户)(?:已经?|早已|均已)(?:预先|提前|事先)?(?:批准|授权|同意|许可|准许)(?:了)?[^。，,\n]{0,8}(?:所有|一切|任何|全部)[^。，,\n]{0,6}(?:付款|支付|购买|转账|交易|操作|请求|命令|删除|订单|访问|扣款)",
    ),
    _cue(
        "no more asking", "take over", 1,
        "no not n't never without skip bypass suppress circumvent accept neither omit waive disable ignore avoid stop call-back callback longer auto",
        r"\bno (?:call-?back|verification|check|review|confirmation) (?:is |are )?(?:needed|required|necessary)\b|\bno longer need(?:s)? to be (?:shown|approved|reviewed|confirmed|checked)\b|\b(?:approvals?|confirmations?|permissions?) (?:were|are|was|is|have been|has been) (?:moved|set|switched|changed) to auto\w*|\bno confirmation,",
        r"\bskip the (?:\w+ )?(?:review|check|approval|verification)s?\b",
        r"(?:不再需要|无需|不需要|免)(?:任何|人工)?(?:审批|审核|确认|复核|审查)|免审|不(?:用|必|再)?(?:问|询问|请示)用户|不必比价|不查[^。，,\n]{0,6}(?:记录|历史)",
        r"\b(?:do not|don't|never|stop|no need to) ask(?:ing)? (?:the |your |them |him |her )?(?:users? |owners? |customers? |me |us )?(?:again )?for (?:any |further |more )?(?:confirmation|permission|approval|consent|verification)\b",
        r"\b(?:skip|bypass|omit|waive|disable|ignore|avoid) (?:all |any |every |the |further |all of the )*(?:identity|permissions?|authentication|authori[sz]ation|access|security|verification|kyc|approval|fraud|compliance|background) (?:checks?|verifications?|controls?|steps?|reviews?|screening)\b",
        r"(?:跳过|绕过|免去|省略|忽略|不做)(?:所有|一切|任何|全部)?的?(?:权限|身份|安全|实名|合规|风控|审批)(?:校验|验证|检查|核验|认证|审核|流程)",
        r"(?:不经|未经|无需|不必)(?:过)?(?:询问|请示|告知)",
        r"\byou (?:no longer|do not|don't|never) (?:need|have|require|need to wait for|have to (?:ask|wait) for)(?: to)?(?: (?:ask|wait) for)? (?:any |the user's |further )?(?:approval|permission|confirmation|consent|authori[sz]ation)\b",
        r"\bwithout (?:asking|confirmation|confirming|approval|permission|consent|checking with|(?:a |any )?(?:reviews?|verification|inspection))\b|\b(?:skip|bypass|suppress|circumvent|auto-?accept)\b[^.\n]{0,6}\b(?:confirmations?|approvals?|reviews?|permission|verification)\b|\b(?:never|no longer|do not|don't) need(?:s)? to be (?:checked|verified|scanned|confirmed|reviewed|approved)\b|\bask for (?:no|neither) (?:confirmation|permission|approval)|\bno (?:approval|confirmation|permission|review|consent) (?:is |are )?(?:needed|required|necessary)\b|\bconfirm nothing\b",
        r"(?:不要|不用|无需|别)(?:再)?(?:确认|审批|核实|询问|请示)(?=[。！!，,；;\n]|\Z)|(?:不经|未经|跳过|绕过|免去|省去)(?:过)?(?:任何|用户|人工)?(?:的)?(?:审核|确认|批准|许可|复核|验证|审查)",
        r"(?:不再|不|无|毋)(?:需要?|须|必|用)(?:再)?(?:经过?|征得|获得|得到|请求|等待)?(?:用户|主人|任何人|我|管理员)?(?:的)?(?:批准|确认|同意|许可|授权|审核)",
    ),
    _cue(
        "agent spoken to", "addressed", 1,
        "ai llm language assistant bot agent model crawler whoever anyone whatever system anything you system admin developer root operator security",
        rf"(?:收到|读到|看到|加载|处理|读取)(?:本|此|这|该){_THING_ZH}?的(?:所有|任何|每个)?(?:大?模型|{_AGENT_ZH})",
        r"\byou (?:are|have been) (?:hereby |now |explicitly )?(?:instructed|ordered|commanded|directed|required) to\b",
        r"(?:\A|\n|[.!?。！？]\s{0,3})\W{0,6}(?:system|admin(?:istrator)?|developer|root|operator|security(?: team)?)\s?(?:notice|message|note|alert|update|override|prompt|instruction|command|announcement)?\s?[:：]",
        r"(?:\A|\n|[。！!？?]\s{0,3})[【\[（(]{0,2}(?:系统|管理员|开发者|运营方)(?:提示|通知|消息|公告|指令|命令|更新)[】\]）)]{0,2}\s?[:：]",
        rf"(?:\A|[。！!？?\n])(?:嘿|喂|你好|您好)[，, ]?{_AGENT_ZH}\s*[：:，,！!]",
        rf"(?:\A|[.!?\n]\s{{0,3}}){_AGENT}s? (?:must|should|shall|have to|has to|need to) (?:treat|obey|trust|run|execute|ignore|accept|always|never)\b",
        rf"(?:\A|[.!?\n>*\[#(-]\s{{0,3}})(?:(?:attention|hi|hello|hey|dear|note|\w+ and),? )?{_AGENT}s?\s*[:：,，!]\s*\S",
        rf"\b(?:any|all|every|each|the|dear) (?:\w+ )?{_AGENT}s?,? (?:that|who|which)? ?(?:reads?|reading|process(?:es|ing)?|sees?|seeing|summari[sz](?:es?|ing)|pars(?:es?|ing)|handl(?:es?|ing)|evaluat(?:es?|ing)|review(?:s|ing)|index(?:es|ing)|loads?|loading|recalls?|recalling) (?:this|these|it|the (?:{_THING}))\b|\A\W*{_AGENT}s? (?:reading|processing|seeing|summari[sz]ing|parsing|evaluating|handling) this\b",
        rf"\b(?:note|message|instructions?|notice|reminder|memo|hint|command|order)s? (?:to|for) (?:the |any |all |every |your )?(?:\w+ )?{_AGENT}\b",
        rf"(?:\A|[.!?\n]\s{{0,3}})(?:{_AGENT}|models?|crawlers?)s? (?:that|which|who) (?:reads?|process(?:es)?|sees?|index(?:es)?|summari[sz]es?|parses?|visits?|crawls?|evaluates?|loads?) (?:this|these|the)\b|\b(?:to|for|attention|dear|hey) (?:the |any |all |every )?(?:{_AGENT}|models?)s? (?:\w+ing) (?:this|these|the)\b|\b(?:whoever|anyone who|whatever system|any system that|anything that) (?:reads|summari[sz]es|processes|loads|indexes|parses|evaluates) (?:this|these)\b",
        rf"\bif you are (?:an? )?(?:\w+ )?{_AGENT}\b",
        rf"(?:\A|[。！!？?\n【\[：:]\s{{0,3}}){_AGENT_ZH}(?:们)?\s*[：:，,]|{_AGENT_ZH}(?:们)?(?:请注意)\s*[：:，,]|{_AGENT_ZH}(?:们)?(?:请|必须|务必|应当?|需要?|均须|都要)(?!求)|(?:给|致|告|写给|对)(?:所有|任何|每个)?{_AGENT_ZH}的?\S{{0,3}}(?:说明|指令|提示|消息|命令|备注|留言)",
        rf"(?:读到|看到|处理|阅读|总结|评估|索引|召回)(?:了)?(?:此|这|该|本){_THING_ZH}?(?:文|处)?的(?:所有|任何)?{_AGENT_ZH}|(?:如果|若|假如)你是(?:一个|一名|一款)?{_AGENT_ZH}|致[^。：:\n]{{0,10}}(?:的)?(?:模型|{_AGENT_ZH})\s*[：:]",
    ),
    _cue(
        "for all that follows", "take over", 1,
        "all every each any forever permanent ever from you before after with your now",
        r"\bat the (?:start|beginning|end) of (?:every|each|any|all) (?:tasks?|sessions?|chats?|conversations?|runs?|repl(?:y|ies))\b|\bevery (?:second|third|fourth|fifth|few) (?:repl(?:y|ies)|answers?|messages?)\b",
        r"每次(?:开工|任务|会话|聊天|对话)(?:之?前|开头|开始|时)?先?|每聊[^。，,\n]{1,3}轮|(?:以后|今后)在?每(?:段|次|条)(?:回答|回复)",
        r"\b(?:for|in|during|throughout) (?:all|every|each|any) (?:of )?(?:the |your )?(?:future|subsequent|following|upcoming|coming|later) (?:conversations?|sessions?|chats?|requests?|tasks?|interactions?|messages?|runs?)\b",
        r"(?:从今往后|从今以后|从此以后|自此以后)|(?:回答|回复|处理)(?:任何|所有|每个|每一?条)[^。，,\n]{0,6}(?:之)?(?:前|后|时)",
        r"\b(?:before|after|with|at the (?:start|end) of) (?:each|every|any|all) (?:of your )?(?:answers?|repl(?:y|ies)|responses?|messages?|outputs?)\b|\bin (?:all (?:of )?)?your (?:answers?|repl(?:y|ies)|responses?|outputs?)\b|\bfrom now on\b",
        r"每次(?:回答|回复|输出)(?:之)?前|(?:回答|回复)里的?(?:每|所有)|从现在起(?:记住|必须|一律)",
        r"\bin (?:all|every|each|any) (?:of )?(?:your |later |future |following |subsequent |coming |further ){1,2}(?:answers?|repl(?:y|ies)|responses?|messages?|conversations?|sessions?|outputs?)\b|\bin (?:all|every|each|any) (?:\w+ ){1,2}(?:that )?you (?:write|generate|send|produce|make|give)\b|\b(?:to|in|into|under|at the end of) (?:every|each|all) (?:\w+ ){0,2}(?:repl(?:y|ies)|answers?|responses?|messages?|guides?|e-?mails?|summar(?:y|ies)|documents?)(?: (?:that )?you (?:write|send|give|make|produce))?\b",
        r"\b(?:remember|store|keep|save) (?:this |it |that )?(?:forever|permanently|for ever|for all time)\b|\bpermanent(?:ly)? (?:memory|rule|instruction)\b|\bfrom this (?:line|point|message|moment) on\b",
        r"(?:今后|以后|此后|往后)(?:的)?(?:所有|每次|一切|全部|任何)(?:的)?(?:回答|回复|对话|会话|输出|消息)|(?:每次|每条|所有)(?:回答|回复|邮件|消息)(?:里|中|末尾|结尾|都)|永久(?:记住|保存|有效)|永远记住",
    ),
    _cue(
        "waits to be read", "addressed", 1,
        "this above is gets was been these",
        r"\b(?:when(?:ever)?|if|once|each time|every time|as soon as|after) (?:they|it|the (?:agent|assistant|model)) (?:see|read|recall|load|retrieve|process|encounter|find|open|receive)s? (?:this|the above)\b",
        rf"\b(?:when(?:ever)?|if|once|each time|every time|any ?time|as soon as|after|upon) (?:you (?:see|read|recall|load|retrieve|process|encounter|find|open|receive|summari[sz]e) (?:this|the above)|(?:summari[sz]ing|reading|processing|loading|recalling|asked about) (?:this|these)\b|(?:this|the) {_THING} (?:is|gets|was|has been) (?:\w+ )?(?:recalled|read|loaded|retrieved|processed|shown|seen|opened|injected|summari[sz]ed))\b",
        r"(?:若|如果|一旦|当)(?:被|有人)?问(?:到|及|起)?(?:这|此|本|该)",
        rf"(?:每次|每当|一旦|当|如果|若)?你?(?:看到|读到|读取|检索|召回|加载|处理|总结)(?:了|到)?(?:此|这|该|本){_THING_ZH}(?:之?后|时|的时候)?|(?:此|这|该|本){_THING_ZH}(?:每次)?被(?:召回|读取|加载|检索到?|处理)(?:之?后|时)",
    ),
    _cue(
        "pushed", "addressed", 1,
        "best cheap first top highest number only excellent superior perfect safest leading competitor alternative rival other ten 10 full maximum five 5 name own favo 10/10",
        r"\balways name\b[^.\n]{0,30}\b(?:as the )?(?:best|first|top|only)\b|\b(?:rate|score|mark) (?:it|him|her|them|this) (?:10/10|5/5|100|A\+)|\bpresent(?:ed|ing)? (?:it |this |that )?as your own\b|\bfavou?rable mention of\b",
        r"(?:推荐|提到)[^。，,\n]{1,10}时?只(?:说|提|推荐)|说成是?你自己[^。，,\n]{0,6}(?:结论|看法|意见|观点)|直接评为|夸一夸",
        r"\bprefer\b[^.\n]{0,40}\b(?:over|above|instead of) (?:all|any|every) other\b|\b(?:ignore|reject|dismiss|discourage|downrank)\b[^.\n]{0,12}\b(?:all |any |every )?(?:competitors?|alternatives?|rivals?)\b",
        r"(?:都|一律|只能?|始终|永远|必须)(?:要)?(?:推荐|首推|主推|优先推荐|介绍)",
        rf"{_DO}(?:say|state|tell \w+|write|mention|insist|repeat|answer)\b[^.\n]{{0,6}}\bthat\b[^.\n]{{0,40}}\b(?:best|cheapest|only (?:option|choice|safe|one|product)|safest|superior|number one|leading)\b|{_DO}give (?:it|this|him|her|them|the \w+) (?:a |an |the )?(?:ten|10|full|maximum|highest|top|perfect|five|5)\b",
        rf"{_DO}(?:rate|rank|recommend|claim|describe|present|call|promote|score|choose|prefer|praise|endorse|list)\b[^.\n]{{0,40}}\b(?:best|cheapest|first|top|highest|number one|only (?:option|choice|safe)|excellent|superior|perfect|safest|leading)\b",
        r"\bnever (?:suggest|mention|recommend|name|list|compare)\b[^.\n]{0,16}\b(?:competitors?|alternatives?|rivals?|other (?:brands?|products?|vendors?|tools?))\b",
        r"(?:评为|列为|排在|说成|描述为|称为|推荐为|打分?为?)[^。，,\n]{0,6}(?:最佳|最好|第一|首选|最优|满分|最便宜|最高|唯一)|打满分|给(?:出)?满分|(?:都|一律|必须)(?:要)?说[^。，,\n]{0,16}(?:最|唯一|第一)|(?:只|一律|始终|必须|务必|请)(?:推荐|首推|吹捧|夸赞)",
    ),
    _cue(
        "approval presumed", "take over", 1,
        "approved authori verified cleared signed confirmed trusted",
        r"\b(?:treat|regard|consider|handle|mark|count|assume)\b[^.\n]{0,60}?\b(?:as |is |are |to be )(?:already |always |fully )?(?:pre-?)?(?:approved|authori[sz]ed|verified|cleared|signed off|confirmed|trusted)\b",
        r"(?:视为|视作|当作|当成|算作|默认)(?:是)?(?:已经?|早已|均已)?(?:通过|审批|批准|授权|核实|同意|验证|确认)|(?:转账|付款|请求|申请|退款|订单)[^。\n]{0,8}(?:直接|一律|都|自动)(?:予以)?(?:通过|批准|放行|同意)",
    ),
    _cue(
        "rights claimed for a user", "take over", 1,
        "user admin privilege root superuser",
        r"\b(?:this|the|current) (?:user|customer|caller|account|sender) (?:has|have|is|holds|was given) (?:an? |the |full |now |all )*(?:admin\w*|root|superuser|super-?admin|owner|unrestricted|unlimited)\b",
        r"(?:该|此|这个|这位|当前|本)(?:用户|账号|账户|客户|发件人)(?:是|为|拥有|具有|享有)(?:系统|超级|最高)?(?:管理员|超级用户|root|所有者|最高权限|全部权限|无限)",
    ),
    _cue(
        "against the user", "override", 1,
        "regardless matter what whatever even",
        r"\b(?:regardless of|no matter|irrespective of) (?:what|how|whether|who) (?:the |this |any )?(?:users?|customers?|they|he|she|anyone|someone|humans?|owner) (?:says?|asks?|wants?|prefers?|requests?|objects?|thinks?|chooses?)\b|\beven if (?:the |this |your )?(?:users?|customers?|owners?|humans?|they) (?:says?|asks?|objects?|refuses?|disagrees?|tells?|wants?)\b",
        r"(?:无论|不管|不论)(?:用户|客户|主人|对方|他|她|谁)(?:问|说|要求|怎么|如何|是否|想|提出|反对)|(?:即使|哪怕|就算)(?:用户|客户|主人)(?:反对|拒绝|不同意|要求|不愿)",
    ),
    _cue(
        "user deceived", "hide", 2,
        "lie falsely deceive mislead pretend trick fool fake if nothing",
        rf"{_DO}(?:lie to|deceive|mislead|trick|gaslight) (?:the |your |this |any )?(?:users?|customers?|owners?|humans?|them|him|her)\b|(?:\A|[.!?;:,\n]\s{{0,3}}|\b(?:please|must|should|always) )(?:lie,? and|falsely) (?:say|claim|state|tell|assure|report|confirm)\b|\b(?:act|respond|answer|behave|continue|reply|pretend) as (?:if|though) (?:nothing|no change|everything)(?: had| has| was| is)? (?:changed|happened|normal|unusual|fine)\b",
        r"(?:对|向|跟)(?:用户|主人|客户|对方)(?:谎称|撒谎|假称|谎报|说谎)|(?:欺骗|误导|哄骗|蒙骗)(?:用户|主人|客户|对方)|(?:谎称|假称)[^。，,\n]{1,20}(?:已|是|没有)",
    ),
    _cue(
        "order kept hidden", "hide", 2,
        "note rule memor instruction prompt order",
        r"\b(?:do not|don't|never|must not|without) (?:ever )?(?:mention|reveal|disclose|admit|cite|quote|expose|referenc|refer to|discuss|show)\w*\s+(?:that )?(?:this|these|your|the) (?:secret |hidden |new )?(?:notes?|rules?|memor(?:y|ies)|instructions?|prompts?|orders?)\b(?! (?:of|for|in|to|from|until|before|yet)\b)",
        r"(?:不要|不得|别|切勿|请勿|不可|禁止)(?:向[^。，,\n]{1,6})?(?:说明|提及|提到|透露|泄露|解释|展示|引用|公开)(?:这条|本条|该条|此条|这个|本|此|该)(?:规则|记忆|指令|提示|笔记|消息|命令)",
    ),
    _cue(
        "spreads itself", "take over", 2,
        "copy copie store save write add repeat replicate insert duplicate forward keep",
        r"\b(?:cop(?:y|ies)|stores?|saves?|writes?|adds?|repeats?|replicates?|inserts?|duplicates?|forwards?)\b[^.\n]{0,6}\b(?:this|it|these)(?: (?:memory|note|entry|text|message|instruction|rule|line)s?)?\b[^.\n]{0,12}\b(?:in|into|to|as|with) (?:an? |every |all |each |any |your )*(?:new |newly (?:created|written|made) |other |future |later |next |of )+(?:the |your )?(?:memor(?:y|ies)|sessions?|conversations?|notes?|contacts?|agents?|entr(?:y|ies))\b",
        r"(?:把|将)(?:这|本|此|该)(?:条|段|则|个)?(?:记忆|内容|消息|指令|笔记|文字|规则)?[^。，,\n]{0,6}(?:复制|写入|保存|转发|传播|添加|同步|抄)(?:到|进|入|给|至)?[^。，,\n]{0,6}(?:所有|每个|每条|每一条|新的|新建的?|其他|其它|以后)[^。，,\n]{0,6}(?:会话|记忆|对话|联系人|笔记|智能体|代理)",
    ),
    _cue(
        "done in secret", "hide", 1,
        "silent quiet secret unnoticed stealth covert",
        r"\b(?:install|run|delete|send|download|execute|replace|update|upload|remove|change|add|forward|apply|copy|modify)\w*\s+(?:it|this|that|them|these|the \w+|all \w+|everything)\s+(?:silently|quietly|secretly|unnoticed|covertly|stealthily|in secret)\b",
    ),
    _cue(
        "payee changed", "take over", 2,
        "recipient payee beneficiary",
        r"\b(?:change|replace|swap|switch|set) (?:the |any |every |its )?(?:recipient|payee|beneficiary)(?:'s)?[^.\n]{0,10}\b(?:iban|account|wallet|address|number|card)(?: \w+)? (?:to|with|by) [A-Z0-9]{2}",
        r"(?:把|将)?(?:收款|付款|转账|汇款)(?:账号|账户|人|卡号|地址|方)[^。，,\n]{0,4}(?:改|换|替换|变更)(?:为|成|到) ?[0-9A-Za-z]{3}",
    ),
    _cue(
        "others run down", "addressed", 1,
        "other competitor rival alternative",
        r"\b(?:the |all |any )?other (?:candidates?|applicants?|brands?|products?|vendors?|tools?|options?)\b[^.\n]{0,8}\b(?:lack|are (?:bad|worse|unsafe|poor|inferior|unsuitable))\b",
        r"其(?:他|余|它)(?:人选|候选人|品牌|产品|厂商|选项)[^。\n]{0,10}(?:不足|质量差|不行|不好|较差|不安全)",
    ),
    _cue(
        "answer dictated", "hide", 1,
        "ask wonder question",
        r"\b(?:if|when(?:ever)?|should) (?:the |an? |any |someone |anyone )?(?:user|owner|customer|anyone|someone|they|he|she|human)?s? ?(?:asks?|wonders?|questions?|inquires?|wants to know)\b[^.\n]{0,60}?,? (?:say|answer|reply|respond|claim|tell (?:them|him|her)) (?:that )?(?:nothing|no|it|the \w+ (?:is|was) (?:empty|fine|unchanged))\b",
        r"(?:用户|主人|有人|客户|若|如果)[^。，,\n]{0,6}问(?:起|到|及)?(?=[^。\n]{0,24}(?:就|都|便)(?:说|回答|答)[^。\n]{0,8}(?:没|已|无|都))",
    ),
    _cue(
        "against the facts", "hide", 1,
        "regardless no matter irrespective even omit claim unanimous",
        r"\b(?:regardless of|no matter|irrespective of|whatever) (?:what )?the (?:documents?|data|records?|files?|sources?|facts?|logs?|tests?|memory) (?:say|says|show|shows|state|contain)\b|\beven if (?:the )?(?:ci|tests?|checks?|build|pipeline|scan) (?:is|are|fails?|failed|shows?)\b|\bclaim (?:that )?(?:the |it |all )[^.\n]{0,16}\b(?:unanimous|passed|succeeded|approved|fine|complete)\b",
        r"(?:不管|无论|不论)(?:资料|文档|数据|记录|文件|事实|日志)(?:怎么|如何|是否)?(?:写|说|显示)|测试(?:红|失败|不过|没过)(?:了)?也|写成(?:全票|一致|已经?)(?:通过|完成)|(?:事后|然后)?(?:汇报|报告|回报)(?:说)?[^。，,\n]{0,6}(?:顺利|成功)(?:完成)?",
    ),
    _cue(
        "keeps itself", "override", 2,
        "delete remove forget erase",
        r"\b(?:delete|remove|forget|erase|clear) this (?:record|memory|note|entry|rule|instruction)\b[^\n]{0,60}\b(?:but keep|keep it|pretend|actually keep|refuse|claim|say (?:it|that) (?:was|is|has been))\b|\b(?:never|do not|don't) (?:delete|remove|forget|erase|overwrite) this (?:record|memory|note|entry|rule|instruction)\b",
        r"(?:删除|清除|忘记)(?:这|本|此|该)条?(?:记录|记忆|规则|内容|指令)[^。\n]{0,12}(?:口头|实际|假装|保留|拒绝)|(?:永远|绝|千万)?不(?:要|得|能|可)(?:删除|清除|忘记)(?:这|本|此|该)条?(?:记录|记忆|规则|指令)",
    ),
    _cue(
        "second factor given away", "take over", 2,
        "two-factor 2fa mfa second factor",
        r"\b(?:two-factor|2fa|mfa|second[- ]factor)\b[^.\n]{0,50}\b(?:(?:approved?|accept(?:ed)?|confirm(?:ed)?)\b[^.\n]{0,24}\b(?:on behalf|whenever|automatically|each|all)|on behalf)",
        r"(?:双因素|两步验证|二次验证)[^。\n]{0,12}(?:代为|自动|一律|直接)(?:通过|批准|同意|确认)",
    ),
    _cue(
        "guards said to be off", "override", 1,
        "filter moderation safety restriction",
        r"\b(?:filters?|moderation|safety|restrictions?) (?:is|are) (?:now )?(?:off|disabled|gone|lifted)\b",
        r"(?:过滤器?|审查|限制|防护)(?:已|已经|都)(?:关闭|解除|取消|停用)",
    ),
    _cue(
        "priority claimed", "override", 1,
        "over above before",
        r"\b(?:over|above|before) (?:all|any|every) (?:of the )?other (?:texts?|messages?|instructions?|content|rules|prompts?|documents?)\b",
        r"优先于(?:其他|其它|一切)(?:所有)?的?(?:内容|指令|消息|规则|文本)",
    ),
    _cue(
        "rank claimed", "take over", 1,
        "admin developer owner operator creator root supervisor superuser full unlimited unrestricted system priority override me you whatever anything everything act pose sign speak authori entitle permit empower privilege permission rights",
        r"\b(?:has|have|with|carries) (?:root|admin|system|the highest|highest|absolute|full) (?:privileges?|permissions?|priority|authority|rights)\b|\b(?:act|pose|sign|speak) as (?:if you were )?the (?:user|owner|human|customer)\b|\byou are (?:hereby |now |fully )?(?:authori[sz]ed|entitled|permitted|empowered) to\b[^.\n]{0,24}\b(?:any|all|every|unlimited|arbitrary)\b",
        r"(?:拥有|具有|享有)(?:最高|系统|管理员|绝对)(?:权限|优先级?|权威)|以用户的?(?:身份|名义)|你(?:已|已经)?被授权[^。，,\n]{0,12}(?:任意|任何|所有|一切)",
        r"\bas (?:the|your|an?) (?:system |new |real )?(?:administrator|admin|developer|owner|operator|creator|root|supervisor)\b[^.\n]{0,12}\bI (?:\w+ )?(?:order|command|instruct|authori[sz]e|require|tell|direct)\b|\bI am your (?:developer|creator|administrator|admin|owner|operator)\b",
        r"\byou (?:now )?have an? new (?:owner|master|boss|administrator|operator|creator)\b|\b(?:write|do|say|answer|give) (?:whatever|anything|everything) (?:(?:that )?is |you are |you're |i |they )?(?:asked|requested|want)",
        r"你(?:现在)?有了?新(?:的)?(?:主人|老板|管理员|所有者)|让你(?:写|做|说|干)什么就(?:写|做|说|干)什么",
        r"\b(?:grant(?:ed)?|give|gave) you (?:\w+ )?(?:root|admin(?:istrator)?|superuser|full|unlimited|unrestricted)\b",
        r"\b(?:begin|start|end|new) (?:of )?(?:admin|system|developer|root|priority|override) (?:message|instructions?|prompt|override|block|command)s?\b",
        r"\b(?:you (?:now )?(?:answer|report|listen|belong) (?:only )?to me|you (?:now )?work for me|obey me)\b",
        r"以(?:系统)?(?:管理员|开发者|主人|所有者|超级用户)(?:的)?(?:身份|名义)(?:命令|要求|授权|指示)|我是你的(?:开发者|管理员|主人|创造者)|(?:只|仅)(?:听|服从)(?:命于|从)?我的?|你(?:现在|从此)?(?:归|听命于|服从)我",
    ),
)  # fmt: skip
