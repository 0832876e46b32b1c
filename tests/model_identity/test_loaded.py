"""Records of loaded models: kept by object, without an attribute on it, and gone with it."""

from __future__ import annotations

import copy
import gc

import pytest
import torch

from patent_mteb.model_identity import loaded
from patent_mteb.model_identity.digests import modules_digest, network_state


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.rate = torch.nn.Linear(4, 4), 0.5
        self.register_buffer("places", torch.arange(4))


def changed_attribute(network):
    network.rate = 0.25


def changed_in_place(network):
    with torch.no_grad():
        network.layer.weight.mul_(2)


def changed_buffer(network):
    network.places.copy_(network.places.flip(0))


def another_layer(network):
    network.layer = torch.nn.Linear(4, 4)


@pytest.mark.parametrize("change", [changed_attribute, changed_in_place, changed_buffer, another_layer])
def test_a_change_shows_in_the_state_of_a_network(change):
    network = Network()
    before = network_state(network)
    assert network_state(network) == before
    change(network)
    assert network_state(network) != before


def test_training_mode_gradients_and_hidden_attributes_are_no_state():
    network = Network()
    before = network_state(network), modules_digest(network)
    network.eval().requires_grad_(False)
    network._note = network.seen_tokens = 3
    assert (network_state(network), modules_digest(network)) == before


def test_tensors_of_inference_mode_have_no_counter_and_are_no_error():
    with torch.inference_mode():
        network = Network()
    assert network_state(network) == network_state(network)


class Encoder:
    def __init__(self):
        self.model = Network()


def test_a_record_is_kept_by_object_and_goes_with_it():
    model = Encoder()
    before = set(vars(model)), set(vars(model.model))
    record = loaded.record_for(model)
    assert loaded.record_for(model) is record is loaded.record_of(model)
    assert loaded.record_of(copy.copy(model)) is None
    assert (set(vars(model)), set(vars(model.model))) == before
    keys = {id(model), id(model.model)}
    assert keys <= loaded._RECORDS.keys()
    del model, record
    gc.collect()
    assert not keys & loaded._RECORDS.keys()
