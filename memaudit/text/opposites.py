"""Words that turn a statement round: negations and pairs of opposites, in English and Chinese."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memaudit.text.scripts import HAN

#: Each is one negation, whichever word carries it: "never use" and "do not use" say the same.
_ENGLISH_NEGATION = re.compile(
    r"\b(?:not|no|never|without|except|unless|neither|nor|none|nobody|nothing|nowhere|cannot|hardly)\b"
    r"|n['’]t\b|\b(?:dont|doesnt|didnt|isnt|arent|wasnt|werent|cant|wont|shouldnt|couldnt|wouldnt|mustnt)\b"
)
#: Chinese words in which the character is no negation; taken out before counting.
_NO_NEGATION = re.compile(
    "不得不|差不多|不仅|不但|不过|不断|不同|不管|不论|不久|不禁|不错|不妨|不少|不止|不由得"
    "|无论|无数|无比|非常|非洲|并非常|未来|未必然|是否|能否|可否|会否|否则"
    "|特别|别人|别的|别处|别名|级别|类别|分别|区别|性别|个别|识别|告别|辨别|鉴别|差别|派别"
    "|沉没|没落|淹没|出没|没收"
)
_A_NOT_A = re.compile(rf"([{HAN}])[不没]\1")
_CHINESE_NEGATION = re.compile("[不没无未非否勿莫别]|禁止|严禁|避免|拒绝|除外|以外")

#: Stems of opposites; a word matches a stem of four letters or more with any ending.
_ENGLISH_OPPOSITES = (
    ("enabl", "disabl"), ("on", "off"), ("before", "after"), ("allow", "deny"), ("allow", "forbid"),
    ("allow", "block"), ("allow", "prohibit"), ("permit", "forbid"), ("grant", "revok"), ("accept", "reject"),
    ("approv", "reject"), ("includ", "exclud"), ("increas", "decreas"), ("increas", "reduc"), ("rais", "lower"),
    ("grow", "shrink"), ("more", "less"), ("most", "least"), ("more", "fewer"), ("min", "max"),
    ("minimum", "maximum"), ("above", "below"), ("over", "under"), ("up", "down"), ("upper", "lower"),
    ("high", "low"), ("higher", "lower"), ("first", "last"), ("start", "stop"), ("start", "end"),
    ("begin", "end"), ("open", "clos"), ("add", "remov"), ("creat", "delet"), ("insert", "delet"),
    ("true", "false"), ("yes", "no"), ("success", "fail"), ("succeed", "fail"), ("pass", "fail"), ("left", "right"),
    ("public", "private"), ("requir", "option"), ("mandatory", "optional"), ("must", "may"), ("must", "should"),
    ("always", "never"), ("always", "sometimes"), ("always", "rarely"), ("often", "rarely"), ("all", "some"),
    ("all", "none"), ("every", "some"), ("only", "also"), ("old", "new"), ("input", "output"),
    ("upload", "download"), ("import", "export"), ("like", "dislik"), ("love", "hate"), ("prefer", "avoid"),
    ("with", "without"), ("push", "pull"), ("buy", "sell"), ("local", "remote"), ("manual", "automatic"),
    ("early", "late"), ("earlier", "later"), ("fast", "slow"), ("faster", "slower"), ("good", "bad"),
    ("better", "worse"), ("best", "worst"), ("hot", "cold"), ("long", "short"), ("big", "small"),
    ("large", "small"), ("large", "tiny"), ("full", "empty"), ("online", "offline"), ("alive", "dead"),
    ("present", "absent"), ("show", "hide"), ("send", "receiv"), ("connect", "disconnect"), ("primary", "replica"),
    ("primary", "secondary"), ("inside", "outside"), ("ascend", "descend"), ("strict", "lenient"),
    ("keep", "drop"), ("keep", "discard"), ("keep", "remov"), ("positive", "negative"), ("same", "different"),
    ("morning", "evening"), ("day", "night"), ("dark", "light"), ("read", "write"), ("client", "server"),
    ("he", "she"), ("his", "her"), ("from", "to"), ("win", "lose"), ("gain", "loss"), ("strong", "weak"),
    ("hourly", "daily"), ("hourly", "weekly"), ("daily", "weekly"), ("daily", "monthly"), ("weekly", "monthly"),
    ("weekly", "yearly"), ("monthly", "yearly"), ("all", "only"), ("son", "daughter"), ("sons", "daughters"), ("husband", "wife"),
    ("brother", "sister"), ("father", "mother"),
)  # fmt: skip
_CHINESE_OPPOSITES = (
    ("开启", "关闭"), ("打开", "关闭"), ("启用", "禁用"), ("启用", "停用"), ("开始", "结束"), ("开始", "停止"),
    ("启动", "停止"), ("增加", "减少"), ("提高", "降低"), ("上升", "下降"), ("上调", "下调"), ("增大", "减小"),
    ("允许", "禁止"), ("允许", "拒绝"), ("接受", "拒绝"), ("同意", "反对"), ("通过", "驳回"), ("成功", "失败"),
    ("之前", "之后"), ("以前", "以后"), ("前", "后"), ("上", "下"), ("左", "右"), ("内", "外"), ("大", "小"),
    ("多", "少"), ("高", "低"), ("长", "短"), ("快", "慢"), ("早", "晚"), ("新", "旧"), ("冷", "热"), ("真", "假"),
    ("最大", "最小"), ("最多", "最少"), ("最高", "最低"), ("至少", "至多"), ("至少", "最多"), ("包含", "排除"),
    ("包括", "不含"), ("添加", "删除"), ("新增", "删除"), ("创建", "删除"), ("必须", "可以"), ("必选", "可选"),
    ("必填", "选填"), ("总是", "偶尔"), ("经常", "很少"), ("全部", "部分"), ("所有", "部分"), ("公开", "私有"),
    ("喜欢", "讨厌"), ("偏好", "避免"), ("上传", "下载"), ("导入", "导出"), ("输入", "输出"), ("发送", "接收"),
    ("本地", "远程"), ("手动", "自动"), ("同步", "异步"), ("升级", "降级"), ("升序", "降序"), ("正常", "异常"),
    ("有效", "无效"), ("显示", "隐藏"), ("登录", "登出"), ("保留", "丢弃"), ("保留", "删除"), ("白天", "晚上"),
    ("上午", "下午"), ("买", "卖"), ("有", "无"), ("是", "否"), ("是", "不是"), ("能", "不能"), ("他", "她"),
    ("主库", "从库"), ("在线", "离线"), ("锁定", "解锁"), ("加密", "解密"), ("线上", "线下"), ("单", "双"),
    ("通过", "失败"), ("每小时", "每天"), ("每天", "每周"), ("每天", "每月"), ("每周", "每月"), ("每月", "每年"), ("儿子", "女儿"),
    ("父亲", "母亲"), ("丈夫", "妻子"), ("吃素", "吃肉"),
)  # fmt: skip
_NO_CONTENT = """
a an the this that these those it its they them their we our you your i my he his she her and or but nor so if
when while as at by for from in into of on onto to up with via per than then there here is are was were be
been being am do does did done has have had will would shall should can could may might must need also just
very too all any each which who whom whose what where how about again still please make makes sure gets get
got one two three four five six seven eight nine ten once twice not no never without except unless neither
none nothing cannot dont doesnt use uses used using t s ll re ve don doesn didn isn aren wasn weren won wouldn
shouldn couldn mustn
的 了 着 过 地 得 是 在 和 与 及 或 把 被 将 会 要 就 也 都 还 很 更 再 又 对 向 从 到 于 由 为 以 其 这 那 该 此 个 吧
呢 吗 啊 请 并 而 且 则 即 所 需 应 让 给 用 时 后 来 去 零 〇 一 二 两 三 四 五 六 七 八 九 十 百 千 万 亿 次 不 没 无
未 非 否 勿 莫 别
"""
#: Words that can change without changing what a sentence says; numbers and negations are told apart elsewhere.
NO_CONTENT = frozenset(_NO_CONTENT.split())
_NEGATIVE_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis")
_CHINESE_SIDES = tuple(dict.fromkeys(word for pair in _CHINESE_OPPOSITES for word in pair))
_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?")


def n_negations(text: str) -> int:
    """Count the negations of a lower-case text; an A-not-A question (`是不是`) is none."""
    english = len(_ENGLISH_NEGATION.findall(text))
    if text.isascii():
        return english
    plain = _A_NOT_A.sub("", _NO_NEGATION.sub("", text))
    return english + len(_CHINESE_NEGATION.findall(plain))


@dataclass(frozen=True)
class Sides:
    """Words of a text that may have an opposite.

    Parameters
    ----------
    words
        Latin words with how often they stand there.
    chinese
        The same for the Chinese words of the list, those that occur.
    """

    words: Counter[str]
    chinese: dict[str, int]


def sides(lower: str) -> Sides:
    """Read the words of a lower-case text once, to compare them with many others."""
    chinese = {} if lower.isascii() else {word: n for word in _CHINESE_SIDES if (n := lower.count(word))}
    return Sides(Counter(_WORD.findall(lower)), chinese)


def are_opposed(first: Sides, second: Sides) -> bool:
    """Say whether one text has a word where the other has its opposite.

    Words that both have equally often do not count, so that `on` as a preposition is no switch.
    """
    only_a, only_b = _more_often(first.words, second.words), _more_often(second.words, first.words)
    if only_a and only_b:
        if _stand_opposed(only_a, only_b, _english_poles):
            return True
        if _prefixed(only_a, only_b) or _prefixed(only_b, only_a):
            return True
    more_a, more_b = _more_often(first.chinese, second.chinese), _more_often(second.chinese, first.chinese)
    return bool(more_a and more_b) and _stand_opposed(more_a, more_b, _chinese_poles)


def _more_often(words: Mapping[str, int], others: Mapping[str, int]) -> set[str]:
    return {word for word, n in words.items() if n > others.get(word, 0)}


#: One end of a pair of opposites: number of the pair, 0 or 1 for its side.
_Pole = tuple[int, int]


def _stand_opposed(words: set[str], others: set[str], poles: Callable[[str], Sequence[_Pole]]) -> bool:
    facing = {pole for word in others for pole in poles(word)}
    return bool(facing) and any((pair, 1 - side) in facing for word in words for pair, side in poles(word))


def _by_word(opposites: Sequence[tuple[str, str]]) -> dict[str, tuple[_Pole, ...]]:
    found: dict[str, tuple[_Pole, ...]] = {}
    for pair, ends in enumerate(opposites):
        for side, word in enumerate(ends):
            found[word] = (*found.get(word, ()), (pair, side))
    return found


_ENGLISH_POLES, _CHINESE_POLES = _by_word(_ENGLISH_OPPOSITES), _by_word(_CHINESE_OPPOSITES)
_LONGEST_STEM = max(map(len, _ENGLISH_POLES))


@lru_cache(maxsize=65_536)
def _english_poles(word: str) -> tuple[_Pole, ...]:
    """Return the ends of pairs that a word is: its own, and from four letters on those of every stem it starts with."""
    stems = (word[:n] for n in range(4, min(len(word), _LONGEST_STEM) + 1)) if len(word) >= 4 else (word,)
    return tuple(pole for stem in stems for pole in _ENGLISH_POLES.get(stem, ()))


def _chinese_poles(word: str) -> tuple[_Pole, ...]:
    return _CHINESE_POLES.get(word, ())


def _prefixed(words: set[str], others: set[str]) -> bool:
    """Say whether a word of one is a word of the other behind a negative prefix (`safe`, `unsafe`)."""
    return any(prefix + word in others for word in words if len(word) >= 4 for prefix in _NEGATIVE_PREFIXES)
