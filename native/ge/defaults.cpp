// What an attribute is where nobody sets it, by operator type: rows for values other than 0, false, "" and [].
// Source: the operator prototypes of mindspore-ai/graphengine (910/third_party/fwkacllib/inc/ops) of 2025-06-19,
// for the types that are emulated. Not here: `data_format`, which the descriptor of a tensor says, and the number of
// inputs, `N`.
#include "ge/operator.h"

namespace ge {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

struct Value {
  std::any any;
  Value(bool value) : any(value) {}
  Value(int value) : any(int64_t{value}) {}
  Value(float value) : any(value) {}
  Value(const char* value) : any(std::string(value)) {}
  Value(Ints value) : any(std::move(value)) {}
  Value(Floats value) : any(std::move(value)) {}
};

struct Row {
  const char* type;
  std::map<std::string, Value> attributes;
};

const std::vector<Row>& rows() {
  static const auto& all = *new std::vector<Row>{
      {"ApplyAdagrad", {{"update_slots", true}}},
      {"ApplyAdagradD", {{"update_slots", true}}},
      {"ApplyAdagradV2", {{"update_slots", true}}},
      {"ApplyAdagradV2D", {{"update_slots", true}}},
      {"ApproximateEqual", {{"tolerance", 1e-5f}}},
      {"ArgMaxV2", {{"dtype", 9}}},
      {"ArgMin", {{"dtype", 9}}},
      {"Assign", {{"validate_shape", true}}},
      {"AvgPool3D", {{"count_include_pad", true}}},
      {"AvgPool3DGrad", {{"count_include_pad", true}}},
      {"AvgPool3DGradD", {{"count_include_pad", true}}},
      {"BNInferGrad", {{"epsilon", 0.0001f}}},
      {"BNTrainingReduceGrad", {{"epsilon", 0.0001f}}},
      {"BNTrainingUpdateGrad", {{"epsilon", 0.0001f}}},
      {"BinaryCrossEntropy", {{"reduction", "mean"}}},
      {"BinaryCrossEntropyGrad", {{"reduction", "mean"}}},
      {"BoundingBoxEncode", {{"means", Floats{0.0f, 0.0f, 0.0f, 0.0f}}, {"stds", Floats{1.0f, 1.0f, 1.0f, 1.0f}}}},
      {"Bucketize", {{"dtype", 3}, {"right", true}}},
      {"CTCLoss", {{"ctc_merge_repeated", true}}},
      {"CTCLossV2", {{"reduction", "mean"}}},
      {"CTCLossV2Grad", {{"reduction", "mean"}}},
      {"Cdist", {{"p", 2.0f}}},
      {"CeluV2", {{"alpha", 1.0f}}},
      {"Complex", {{"Tout", 16}}},
      {"Conv2D", {{"dilations", Ints{1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv2DBackpropFilter", {{"dilations", Ints{1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv2DBackpropInput", {{"dilations", Ints{1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv3D", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv3DBackpropFilter", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv3DBackpropFilterD", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv3DBackpropInput", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv3DBackpropInputD", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1}}},
      {"Conv3DTranspose", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1}, {"output_padding", Ints{0, 0, 0, 0, 0}}}},
      {"Conv3DTransposeD", {{"dilations", Ints{1, 1, 1, 1, 1}}, {"groups", 1},
          {"output_padding", Ints{0, 0, 0, 0, 0}}}},
      {"CropAndResize", {{"method", "bilinear"}}},
      {"CropAndResizeGradImage", {{"method", "bilinear"}}},
      {"Cross", {{"dim", -65530}}},
      {"DeformableOffsets", {{"dilations", Ints{1, 1, 1, 1}}, {"deformable_groups", 1}, {"modulated", true}}},
      {"DeformableOffsetsGrad", {{"dilations", Ints{1, 1, 1, 1}}, {"deformable_groups", 1}, {"modulated", true}}},
      {"DepthToSpace", {{"mode", "DCR"}}},
      {"DynamicGRUV2", {{"direction", "UNIDIRECTIONAL"}, {"cell_depth", 1}, {"keep_prob", 1.0f}, {"cell_clip", -1.0f},
          {"time_major", true}, {"activation", "tanh"}, {"gate_order", "zrh"}, {"reset_after", true},
          {"is_training", true}}},
      {"DynamicGRUV2Grad", {{"direction", "UNIDIRECTIONAL"}, {"keep_prob", -1.0f}, {"cell_clip", -1.0f},
          {"time_major", true}, {"gate_order", "zrh"}, {"reset_after", true}}},
      {"DynamicRNN", {{"cell_type", "LSTM"}, {"direction", "UNIDIRECTIONAL"}, {"cell_depth", 1}, {"keep_prob", 1.0f},
          {"cell_clip", -1.0f}, {"time_major", true}, {"activation", "tanh"}, {"gate_order", "ijfo"},
          {"is_training", true}}},
      {"DynamicRNNGrad", {{"cell_type", "LSTM"}, {"direction", "UNIDIRECTIONAL"}, {"keep_prob", -1.0f},
          {"cell_clip", -1.0f}, {"time_major", true}, {"gate_order", "ijfo"}}},
      {"Elu", {{"alpha", 1.0f}, {"scale", 1.0f}, {"input_scale", 1.0f}}},
      {"EluGradV2", {{"alpha", 1.0f}, {"scale", 1.0f}, {"input_scale", 1.0f}}},
      {"Exp", {{"base", -1.0f}, {"scale", 1.0f}}},
      {"Flatten", {{"axis", 1}}},
      {"HardShrink", {{"lambd", 0.5f}}},
      {"HardShrinkGrad", {{"lambd", 0.5f}}},
      {"HardSigmoid", {{"alpha", 0.16666666f}, {"beta", 0.5f}}},
      {"HardSigmoidGrad", {{"alpha", 0.16666666f}, {"beta", 0.5f}}},
      {"Histogram", {{"bins", 100}}},
      {"HistogramFixedWidth", {{"dtype", 3}}},
      {"InstanceNorm", {{"epsilon", 1e-6f}}},
      {"KlDivLossGrad", {{"reduction", "mean"}}},
      {"L2Normalize", {{"eps", 0.0001f}}},
      {"L2NormalizeGrad", {{"eps", 0.0001f}}},
      {"LRN", {{"depth_radius", 5}, {"bias", 1.0f}, {"alpha", 1.0f}, {"beta", 0.5f},
          {"norm_region", "ACROSS_CHANNELS"}}},
      {"LRNGrad", {{"depth_radius", 5}, {"bias", 1.0f}, {"alpha", 1.0f}, {"beta", 0.5f}}},
      {"LarsV2Update", {{"hyperpara", 0.001f}, {"epsilon", 1e-5f}}},
      {"LayerNorm", {{"epsilon", 1e-7f}}},
      {"ListDiff", {{"out_idx", 3}}},
      {"Log", {{"base", -1.0f}, {"scale", 1.0f}}},
      {"LogSoftmaxGrad", {{"axis", Ints{-1}}}},
      {"LogSoftmaxV2", {{"axes", Ints{-1}}}},
      {"LowerBound", {{"out_type", 3}}},
      {"LpNorm", {{"p", 2}, {"epsilon", 1e-12f}}},
      {"LpNormV2", {{"p", 2.0f}, {"epsilon", 1e-12f}}},
      {"MatrixDiagPartV3", {{"align", "RIGHT_LEFT"}}},
      {"MatrixDiagV3", {{"align", "RIGHT_LEFT"}}},
      {"MatrixSetDiagV3", {{"align", "RIGHT_LEFT"}}},
      {"MatrixTriangularSolve", {{"lower", true}}},
      {"MaxPool3D", {{"pads", Ints{0, 0, 0, 0, 0, 0}}, {"dilation", Ints{1, 1, 1, 1, 1}}}},
      {"MaxPool3DGrad", {{"padding", "SAME"}}},
      {"MaxPool3DWithArgmax", {{"dilation", Ints{1, 1, 1, 1, 1}}, {"argmax_type", "bitmask"}}},
      {"MaximumGrad", {{"grad_x", true}, {"grad_y", true}}},
      {"MinimumGrad", {{"grad_x", true}, {"grad_y", true}}},
      {"MultilabelMarginLoss", {{"reduction", "mean"}}},
      {"Multinomial", {{"dtype", 9}}},
      {"NonZero", {{"dtype", 9}}},
      {"OneHot", {{"axis", -1}}},
      {"PadV3", {{"mode", "constant"}, {"paddings_contiguous", true}}},
      {"PadV3Grad", {{"mode", "reflect"}, {"paddings_contiguous", true}}},
      {"ROIAlign", {{"sample_num", 2}, {"roi_end_mode", 1}, {"pool_mode", "avg"}}},
      {"ROIAlignGrad", {{"sample_num", 2}, {"roi_end_mode", 1}}},
      {"RandomPoisson", {{"dtype", 9}}},
      {"ReduceMean", {{"noop_with_empty_axes", true}}},
      {"ReduceStd", {{"unbiased", true}}},
      {"Reshape", {{"num_axes", -1}}},
      {"ScatterElements", {{"reduction", "none"}}},
      {"SearchSorted", {{"dtype", 9}}},
      {"Shrink", {{"lambd", 0.5f}}},
      {"SmoothL1Loss", {{"sigma", 1.0f}}},
      {"SmoothL1LossGrad", {{"sigma", 1.0f}}},
      {"SmoothL1LossGradV2", {{"sigma", 1.0f}, {"reduction", "mean"}}},
      {"SmoothL1LossV2", {{"sigma", 1.0f}, {"reduction", "mean"}}},
      {"SoftMarginLoss", {{"reduction", "mean"}}},
      {"SoftMarginLossGrad", {{"reduction", "mean"}}},
      {"SoftShrink", {{"lambd", 0.5f}}},
      {"SoftShrinkGrad", {{"lambd", 0.5f}}},
      {"SoftmaxGrad", {{"axes", Ints{-1}}}},
      {"SoftmaxV2", {{"axes", Ints{-1}}}},
      {"Sort", {{"axis", -1}}},
      {"SparseApplyAdagrad", {{"update_slots", true}}},
      {"SparseApplyAdagradD", {{"update_slots", true}}},
      {"SparseApplyAdagradV2", {{"update_slots", true}}},
      {"SparseApplyAdagradV2D", {{"update_slots", true}}},
      {"StatelessRandperm", {{"dtype", 9}}},
      {"Svd", {{"compute_uv", true}}},
      {"Swish", {{"scale", 1.0f}}},
      {"TopK", {{"sorted", true}, {"largest", true}, {"dim", -1}}},
      {"TopKV2", {{"sorted", true}, {"dim", -1}, {"largest", true}}},
      {"Unique", {{"out_idx", 3}}},
      {"UniqueConsecutive", {{"axis", 1000}}},
  };
  return all;
}

}  // namespace

std::map<std::string, std::any> defaults_of(const std::string& type) {
  std::map<std::string, std::any> found;
  for (const Row& row : rows())
    if (type == row.type)
      for (const auto& [name, value] : row.attributes) found.emplace(name, value.any);
  return found;
}

}  // namespace ge
