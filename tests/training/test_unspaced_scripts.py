"""Recipes count, cut and compare words also where a script has no blanks between words."""

import random

import numpy as np
import pytest

from patent_mteb.patents.records import Patent
from patent_mteb.patents.scripts import first_words, split_words
from patent_mteb.recipes.dapfam import keywords_of
from patent_mteb.recipes.patentmap import WORDS, Content, more_like_this
from patent_mteb.training.pairs import POLICIES
from patent_mteb.training.preparing import Lexical

TEXTS = {
    "Chinese": (
        "一种离心泵，包括壳体、叶轮和密封环。叶轮安装在轴上并在壳体内旋转。密封环由弹簧压紧在轴上。",
        "一种锂离子电池的正极材料，由镍、钴和锰的盐溶液沉淀得到。前驱体与锂源混合后烧结。材料具有良好的循环性能。",
        "一种图像识别方法，用神经网络提取特征。特征与数据库中的样本比较。结果显示在屏幕上。",
    ),
    "Japanese": (
        "遠心ポンプは、ハウジングと羽根車とシールを備える。羽根車は軸に取り付けられて回転する。シールはばねで押される。",
        "リチウムイオン電池の正極材料は、ニッケルとコバルトの塩から得られる。前駆体を焼成する。サイクル特性に優れる。",
        "画像認識方法は、ニューラルネットワークで特徴を抽出する。特徴をデータベースと比較する。結果を画面に表示する。",
    ),
    "Korean": (
        "원심펌프는 하우징과 임펠러와 밀봉링을 포함한다. 임펠러는 축에 장착되어 회전한다. 밀봉링은 스프링에 의해 눌린다.",
        "리튬이온 전지의 양극재료는 니켈과 코발트의 염으로부터 얻어진다. 전구체를 소성한다. 수명특성이 우수하다.",
        "영상인식 방법은 신경망으로 특징을 추출한다. 특징을 데이터베이스와 비교한다. 결과를 화면에 표시한다.",
    ),
    "Thai": (
        "ปั๊มหอยโข่งประกอบด้วยตัวเรือนใบพัดและวงแหวนกันรั่ว ใบพัดติดตั้งบนเพลาและหมุนในตัวเรือน วงแหวนถูกกดด้วยสปริง",
        "วัสดุขั้วบวกของแบตเตอรี่ลิเธียมไอออนได้จากเกลือของนิกเกิลและโคบอลต์ นำสารตั้งต้นไปเผา วัสดุมีอายุการใช้งานดี",
        "วิธีการจดจำภาพใช้โครงข่ายประสาทเทียมสกัดลักษณะเด่น นำลักษณะเด่นไปเทียบกับฐานข้อมูล แสดงผลบนหน้าจอ",
    ),
}
FRAGMENT = slice(6, 24)
"""Letters within the first sentence of each text: no blank-separated word of it is whole."""


@pytest.mark.parametrize("language", TEXTS)
def test_negatives_by_bm25_are_found_in_texts_without_blanks(language):
    texts = TEXTS[language]
    search = Lexical(texts)
    search.anchors = [text[FRAGMENT] for text in texts]
    rows = np.arange(len(texts))
    scores = search.similarity(rows, rows).numpy()
    assert (scores.argmax(axis=1) == rows).all() and (scores.max(axis=1) > 0).all()
    assert (search.similarity_pairwise(rows, rows).numpy() == scores.diagonal()).all()


@pytest.mark.parametrize("language", TEXTS)
def test_similar_texts_are_found_in_texts_without_blanks(language):
    texts = dict(enumerate(TEXTS[language] * 2))
    texts = {f"D{number}": text if number < 3 else text[FRAGMENT] for number, text in texts.items()}
    found = more_like_this(texts, ["D3", "D4", "D5"], 2)
    assert found == {"D3": ["D3", "D0"], "D4": ["D4", "D1"], "D5": ["D5", "D2"]}


@pytest.mark.parametrize("language", TEXTS)
def test_keywords_of_a_text_without_blanks_are_pairs_of_letters(language):
    text = TEXTS[language][0]
    queries = {"F": {"abstract_keywords": "", "abstract_en": f"{text} An impeller of the pump"}}
    words = keywords_of(queries, lambda: TEXTS[language], 100)["F"].split(", ")
    assert {"impeller", "pump"} <= set(words)
    assert len(words) == 2 + len({word for word in words if len(word) <= 2}) > 20


@pytest.mark.parametrize("language", ["Chinese", "Japanese"])
@pytest.mark.parametrize("policy", ["crop", "shuffle", "shuffle-crop"])
def test_views_of_an_abstract_without_blanks_differ_from_it(policy, language):
    patent = Patent("CN1000000A", "F1", title="", abstract=TEXTS[language][0])
    whole = POLICIES["dropout"](patent, random.Random(0))
    assert patent.abstract in whole
    view = POLICIES[policy](patent, random.Random(0))
    assert view != whole
    kept = len(view.replace(" ", "")) / len(whole.replace(" ", ""))
    assert kept == 1 if policy == "shuffle" else 0.8 < kept < 1


def test_words_are_those_between_blanks_and_pairs_of_letters_of_other_scripts():
    assert split_words(" a  pump\nwith ") == ["a ", "pump ", "with "]
    assert split_words("一种泵 pump 阀") == ["一种", "泵 ", "pump ", "阀"]
    assert first_words(" a  pump\nwith a valve", 3) == "a pump with"
    assert first_words("一种泵的 pump 阀", 3) == "一种泵的 pump"
    assert first_words("", 3) == first_words("pump", 0) == ""


def test_sections_without_blanks_are_cut_too():
    content = Content("", "", "", "泵" * 3000)
    assert len(content.section("invention", tags=False)) == 2 * WORDS
